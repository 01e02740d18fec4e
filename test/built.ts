/**
 * The sources in a few files, built once for a test run, for tests that start many processes: most of what a start costs is
 * to find the 450 modules one by one. They stay TypeScript by name, so that the command calls itself as it does unbuilt.
 */

import { chmodSync, copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { bundleLibrary } from '../src/build/library.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of what was built of `src`, by the same names; `test/` in it holds what tests start. */
    readonly built: string
  }
}

const ROOT = resolve(import.meta.dirname, '..')

/** What tests start beside the package's own. */
const CHILDREN = [
  'cli/as-nobody',
  'conversation/driver',
  'conversation/racer',
  'postgres/other',
  'postgres/writer',
  'service/crash-child',
  'service/soak-child',
  'store/sqlite-child',
  'testing/colloquy-agent',
]

/** Most children of tests are killed, and a process keeps what it compiled for the next one when it ends by itself. */
const banner = ({ name }: { readonly name: string }): string =>
  name.startsWith('test/') ? "setImmediate(process.getBuiltinModule('node:module').flushCompileCache)" : ''

/** Builds; gives what removes it again. */
export async function setup(project: TestProject): Promise<() => void> {
  // What is built stands in another folder each time, so that nothing compiled for it is of use to a later run.
  rmSync(join(ROOT, 'node_modules/.cache/colloquy/compiled'), { recursive: true, force: true })
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-built-'))
  // Also for a process of another user.
  chmodSync(folder, 0o755)
  await bundleLibrary(join(folder, 'src'), {
    ending: 'ts',
    more: Object.fromEntries(
      CHILDREN.map((path) => [`test/${basename(path)}`, join(ROOT, `test/${path}.ts`)]),
    ),
    // What a user installs beside the package.
    external: ['pg', 'fast-check', '@opentelemetry/api', 'better-sqlite3'],
    banner,
  })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir')
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  project.provide('built', join(folder, 'src'))
  return () => rmSync(folder, { recursive: true, force: true })
}
