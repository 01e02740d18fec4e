/**
 * The server cases find each deliberate bug in the example agent server, by its law. A run plays every sixth bug, always the same ones; `COLLOQUY_FAULTS=all`, and the
 * nightly run, play all.
 */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { LAWS } from '../../src/laws/index.ts'
import { lawBrokenBy, seeded } from './play-bug.ts'
import { SEEDED_BUGS } from './seeded-bugs.ts'

const ONE_IN = process.env['COLLOQUY_FAULTS'] === 'all' ? 1 : 6
const PLAYED = SEEDED_BUGS.filter((_, index) => index % ONE_IN === 0)

it('there are thirty and more, each with a name of its own, and a law that there is', () => {
  expect(SEEDED_BUGS.length).toBeGreaterThanOrEqual(30)
  expect(new Set(SEEDED_BUGS.map(({ name }) => name)).size).toBe(SEEDED_BUGS.length)
  for (const { law } of SEEDED_BUGS) expect(LAWS).toHaveProperty(law)
})

it('each changes a text that stands once in its file', () => {
  for (const bug of SEEDED_BUGS) expect(seeded(bug)).not.toBe('')
})

it('the page has their number', () => {
  const page = readFileSync(resolve(import.meta.dirname, '../../docs/testing.md'), 'utf8')
  expect(page).toContain(`A test plants ${SEEDED_BUGS.length} bugs`)
})

it.each(PLAYED)('$law: $name', async (bug) => {
  const result = await lawBrokenBy(bug)
  expect(result?.law, result?.message).toBe(bug.law)
})
