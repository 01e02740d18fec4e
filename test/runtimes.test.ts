/**
 * The core's tests use nothing of Node that other runtimes lack: `npm run test:runtimes` runs them
 * there.
 */

import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { coreFiles, ROOT } from './runtimes/core-files.ts'

/** Replaces Node's modules in other runtimes; the names it exports are available. */
const STAND_IN = readFileSync(join(ROOT, 'test/runtimes/without-node.ts'), 'utf8')
const PROVIDED = new Set(
  [...STAND_IN.matchAll(/^export (?:const|function) (\w+)|^export \{ \w+ as (\w+) \}/gm)].map(
    ([, name, renamed]) => name ?? renamed,
  ),
)
const MODULES = /^node:(fs|path|timers\/promises|util)$/

/** The runtimes replace it with other databases. */
const REPLACED = 'test/conversation/backends.ts'

/** Sources for Node only. */
const FOR_NODE = /^src\/(cli|conversation\/shell|service\/node|store\/(sqlite|postgres)|testing\/node)\//

/** A file's run-time imports: names and module. */
function importsOf(file: string): { readonly names: string[]; readonly from: string }[] {
  const result = readFileSync(join(ROOT, file), 'utf8').matchAll(
    /^(?:import|export)\s+(?!type\s)(\*(?:\s+as\s+\w+)?|\w+|\{[^}]*\})\s+from\s+'([^']+)'/gm,
  )
  return [...result].map(([, names = '', from = '']) => ({
    names: names
      .replace(/[{}]/g, '')
      .split(',')
      .map((name) => name.trim().replace(/ as \w+$/, ''))
      .filter((name) => name !== '' && !name.startsWith('type ')),
    from,
  }))
}

/** Imports that other runtimes lack, with the importing file. */
function missing(files: readonly string[]): string[] {
  const seen = new Set(files)
  const problems: string[] = []
  for (const file of seen)
    for (const { names, from } of importsOf(file)) {
      if (from.startsWith('node:')) {
        const all = MODULES.test(from) ? names.filter((name) => !PROVIDED.has(name)) : names
        problems.push(...all.map((name) => `${file} imports ${name} from ${from}`))
      }
      if (!from.startsWith('.')) continue
      const target = relative(ROOT, resolve(ROOT, dirname(file), from))
      if (names.length > 0 && FOR_NODE.test(target)) problems.push(`${file} imports ${target}`)
      if (target !== REPLACED && !target.startsWith('src/') && target.endsWith('.ts')) seen.add(target)
    }
  return problems
}

it('`missing` finds imports that other runtimes lack', () => {
  const problems = missing(['test/store/sqlite-watch.test.ts'])
  expect(problems).toContain('test/store/sqlite-watch.test.ts imports copyFileSync from node:fs')
  expect(problems).toContain('test/store/sqlite-drivers.ts imports tmpdir from node:os')
  expect(problems).toContain('test/store/sqlite-watch.test.ts imports src/store/sqlite/index.ts')
})

it('the tests in test/runtimes/core-files.ts import nothing that other runtimes lack', () => {
  const { files } = coreFiles()
  expect(files.length).toBeGreaterThan(100)
  expect(missing(files)).toEqual([])
})
