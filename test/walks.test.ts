/**
 * Compares the files and functions of a call with the figures in docs/architecture.md, which may only fall: `npm run
 * walks` prints them.
 */

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')

interface Walk {
  readonly name: string
  readonly files: number
  readonly functions: number
}

const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
const bounds = [...page.matchAll(/^\| (.+?) +\| +(\d+) +\| +(\d+) +\| +\d+ +\|$/gm)].map(
  ([, name = '', files, functions]) => ({ name, files: Number(files), functions: Number(functions) }),
)
const walks = JSON.parse(
  execFileSync(process.execPath, ['bench/walks.ts', '--json'], { cwd: ROOT, encoding: 'utf8' }),
) as readonly Walk[]

it('docs/architecture.md has figures for each walk', () =>
  expect(bounds.map(({ name }) => name)).toEqual(walks.map(({ name }) => name)))

it.each(walks)('$name passes at most the documented files and functions', ({ name, files, functions }) => {
  const bound = bounds.find((one) => one.name === name)
  expect(files).toBeLessThanOrEqual(bound?.files ?? 0)
  expect(functions).toBeLessThanOrEqual(bound?.functions ?? 0)
})
