/** Installs what the cluster is made of from Debian, where it is missing. */

import { existsSync } from 'node:fs'
import { sh, tryTo } from './shell.ts'

/** Where Debian puts the programs of the server. */
export const BIN = '/usr/lib/postgresql/15/bin'

interface Package {
  readonly name: string
  /** It is installed when this is there. */
  readonly program: string
  /** What the package starts by itself. */
  readonly service: string
}

const PACKAGES: readonly Package[] = [
  { name: 'postgresql-15', program: `${BIN}/postgres`, service: 'postgresql' },
  { name: 'etcd-server', program: '/usr/bin/etcd', service: 'etcd' },
  { name: 'patroni', program: '/usr/bin/patroni', service: 'patroni' },
]

/** The program that lets a process be another user's. */
const NEEDED = ['/usr/bin/setpriv', '/usr/sbin/ip']

/**
 * Installs the packages that are missing, and stops the services which they have started; what was installed before is
 * left as it is.
 * @throws Error where this user is not root, or the system is no Debian.
 */
export async function install(say: (line: string) => void): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('needs root: it makes network namespaces and mounts')
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
