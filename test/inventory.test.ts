/**
 * The inventory is complete: ids are unique, an existing test covers every outcome, and a rule covers
 * every difference.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Verdict } from './inventory/case.ts'
import { INVENTORY } from './inventory.ts'

const FOLDER = join(import.meta.dirname, 'inventory')

/** Number of cases in each group. */
const GROUPS = {
  A: 31,
  B: 24,
  C: 12,
  D: 27,
  E: 22,
  F: 10,
  G: 12,
  H: 4,
  I: 14,
  J: 15,
  K: 11,
  L: 23,
  M: 17,
  N: 10,
  O: 5,
  P: 27,
  Q: 9,
  S: 13,
  W: 50,
}

const IDS: readonly string[] = [
  ...Object.entries(GROUPS).flatMap(([group, count]) =>
    Array.from({ length: count }, (_, index) => `${group}${index + 1}`),
  ),
  'W25b',
  'W25c',
  'W25d',
]

const sources = new Map(
  readdirSync(FOLDER)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => [name, readFileSync(join(FOLDER, name), 'utf8')]),
)

/** Ids at the start of test titles; a test with many rows counts once. */
const idsIn = (source: string): string[] =>
  [...source.matchAll(/\(\s*'([A-Z]\d+[a-z]?) /g)].map((match) => match[1] as string)

const withVerdict = (verdict: Verdict) => INVENTORY.filter((entry) => entry.verdict === verdict)

describe('the inventory', () => {
  it('lists every case once', () => {
    const ids = INVENTORY.map((entry) => entry.id)
    expect(ids.toSorted()).toEqual(IDS.toSorted())
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toHaveLength(339)
  })

  it('describes each case in at least 10 characters', () => {
    expect(
      INVENTORY.filter((entry) => entry.description.trim().length < 10).map((entry) => entry.id),
    ).toEqual([])
  })

  it.each(INVENTORY.filter((entry) => entry.test !== undefined))(
    'refers to exactly one existing test for $id',
    ({ id, test = '' }) => {
      const [file = '', title = ''] = test.split(/: (.*)/s)
      expect(title).toBe(`${id} `)
      expect(idsIn(sources.get(file) ?? '').filter((matches) => matches === id)).toEqual([id])
    },
  )

  it('has a test for every "same" or "different" case, and for no other case', () => {
    const tested = [...sources.values()].flatMap(idsIn)
    const expected = INVENTORY.filter((entry) => entry.verdict !== 'not ours').map((entry) => entry.id)
    expect(tested.toSorted()).toEqual(expected.toSorted())
    expect(withVerdict('not ours').filter((entry) => entry.test !== undefined)).toEqual([])
  })

  it('has no skipped, focused or failing test', () => {
    for (const source of sources.values())
      expect(source).not.toMatch(/\.(skip|todo|only|fails|skipIf|runIf)\b/)
  })

  it('names a rule for each "different" case, and no reason for "same" cases', () => {
    const rule = /\b(U\d|D\d+|section \d|law [A-Z]\d+)\b/
    expect(
      withVerdict('different')
        .filter((entry) => !rule.test(entry.why ?? ''))
        .map((entry) => entry.id),
    ).toEqual([])
    expect(withVerdict('same').filter((entry) => entry.why !== undefined)).toEqual([])
  })

  it('names the owner of each "not ours" case', () => {
    const owner = /^a (matter|decision|path) |^the cache of /
    expect(
      withVerdict('not ours')
        .filter((entry) => !owner.test(entry.why ?? ''))
        .map((entry) => entry.id),
    ).toEqual([])
  })

  it('assigns a verdict to every case', () => {
    const verdicts: readonly Verdict[] = ['same', 'different', 'not ours']
    const counts = verdicts.map((verdict) => `${withVerdict(verdict).length} ${verdict}`)
    console.log(`inventory: ${INVENTORY.length} cases, ${counts.join(', ')}`)
    expect(verdicts.reduce((sum, verdict) => sum + withVerdict(verdict).length, 0)).toBe(IDS.length)
  })
})
