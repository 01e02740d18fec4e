/**
 * The server cases find each deliberate bug in the example agent server, by its law. A run tests every sixth
 * bug; with `COLLOQUY_FAULTS=all`, and nightly, it tests all of them.
 */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { LAWS } from '../../src/laws/index.ts'
import { lawBrokenBy, seeded } from './run-seeded-bug.ts'
import { SEEDED_BUGS } from './seeded-bugs.ts'

const ONE_IN = process.env['COLLOQUY_FAULTS'] === 'all' ? 1 : 6
const TESTED = SEEDED_BUGS.filter((_, index) => index % ONE_IN === 0)

it('there are at least 30 bugs, each with a unique name and an existing law', () => {
  expect(SEEDED_BUGS.length).toBeGreaterThanOrEqual(30)
  expect(new Set(SEEDED_BUGS.map(({ name }) => name)).size).toBe(SEEDED_BUGS.length)
  for (const { law } of SEEDED_BUGS) expect(LAWS).toHaveProperty(law)
})

it('the text that each bug replaces occurs once in its file', () => {
  for (const bug of SEEDED_BUGS) expect(seeded(bug)).not.toBe('')
})

it('docs/testing.md states the number of bugs', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/testing.md'), 'utf8')
  expect(page).toContain(`A test plants ${SEEDED_BUGS.length} bugs`)
})

// Unlike `$name`, `%s` does not truncate a name.
const named = TESTED.map((bug) => [bug.law, bug.name, bug] as const)

it.each(named)('the server cases report law %s if %s', async (_, __, bug) => {
  const result = await lawBrokenBy(bug)
  expect(result?.law, result?.message).toBe(bug.law)
})
