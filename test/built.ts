/**
 * Bundles the sources into a few files once per test run. Tests start many processes, and without the bundle
 * each process would spend most of its start on finding modules and removing types.
 */

import { chmodSync, copyFileSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import type { TestProject } from 'vitest/node'
import { bundleLibrary } from '../src/build/library.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /**
     * Folder of the bundled `src`, with files in JavaScript; its `test/` contains the programs that tests
     * start.
     */
    readonly built: string
  }
}

const ROOT = resolve(import.meta.dirname, '..')

/** Programs that tests start, in addition to the package's own. */
const CHILDREN = [
  'conversation/driver',
  'conversation/racer',
  'faults/fault-writer',
  'postgres/other-process',
  'postgres/writer',
  'service/crash-child',
  'service/soak-child',
  'store/blobs-child',
  'store/sqlite-child',
  'testing/colloquy-agent',
]

/** Modules that most programs load: one file each, since finding a module costs more than reading unused code. */
const GROUPS = [
  { name: 'zod', test: /node_modules.zod/ },
  {
    name: 'core',
    test: /src.(context|conversation|event|log|messages|state|view|store.(contract|kit|memory|sql))\b/,
  },
  { name: 'http', test: /node_modules.(hono|@hono|ws)/ },
  { name: 'service', test: /src.service/ },
]

/** Node saves compiled code when a process exits by itself, but most children of tests are killed. */
const banner = ({ name }: { readonly name: string }): string =>
  name.startsWith('test/') ? "setImmediate(process.getBuiltinModule('node:module').flushCompileCache)" : ''

/** Returns the clean-up. */
export async function setup(project: TestProject): Promise<() => void> {
  // Each run builds into another folder, so code compiled for an earlier run is useless.
  rmSync(join(ROOT, 'node_modules/.cache/colloquy/compiled'), { recursive: true, force: true })
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-built-'))
  // Readable for processes of other users, too.
  chmodSync(folder, 0o755)
  await bundleLibrary(join(folder, 'src'), {
    more: Object.fromEntries(
      CHILDREN.map((path) => [`test/${basename(path)}`, join(ROOT, `test/${path}.ts`)]),
    ),
    // Packages that a user installs separately.
    external: ['pg', 'fast-check', '@opentelemetry/api', 'better-sqlite3'],
    output: { banner, codeSplitting: { groups: GROUPS } },
  })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir')
  copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'))
  project.provide('built', join(folder, 'src'))
  return () => rmSync(folder, { recursive: true, force: true })
}
