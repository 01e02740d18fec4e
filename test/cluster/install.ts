/** Installs missing Debian packages for the cluster. */

import { existsSync } from 'node:fs'
import { sh, tryTo } from './shell.ts'

/** Debian's folder of the server programs. */
export const BIN = '/usr/lib/postgresql/15/bin'

interface Package {
  readonly name: string
  /** Exists if the package is installed. */
  readonly program: string
  /** The service that the package starts. */
  readonly service: string
}

const PACKAGES: readonly Package[] = [
  { name: 'postgresql-15', program: `${BIN}/postgres`, service: 'postgresql' },
  { name: 'etcd-server', program: '/usr/bin/etcd', service: 'etcd' },
  { name: 'patroni', program: '/usr/bin/patroni', service: 'patroni' },
]

/** `setpriv` runs programs as another user. */
const NEEDED = ['/usr/bin/setpriv', '/usr/sbin/ip']

/**
 * Installs missing packages and stops their services; existing packages are unchanged.
 * @throws Error without root, or on another system than Debian.
 */
export async function install(say: (line: string) => void): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('needs root, to create network namespaces and mounts')
  if (!existsSync('/usr/bin/apt-get')) throw new Error("needs Debian's apt-get")
  const missing = PACKAGES.filter(({ program }) => !existsSync(program))
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name)
    say(`installing ${names.join(', ')}`)
    const env = { DEBIAN_FRONTEND: 'noninteractive' }
    await tryTo('apt-get', ['update', '-qq'])
    await sh('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...names], env)
    for (const { service } of missing) await tryTo('service', [service, 'stop'])
  }
  for (const program of [...PACKAGES.map((one) => one.program), ...NEEDED])
    if (!existsSync(program)) throw new Error(`needs ${program}`)
}
