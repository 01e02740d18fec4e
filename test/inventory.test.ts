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

const withVerdict = (verdict: Verdict) => INVENTORY.filter((each) => each.verdict === verdict)

describe('the inventory', () => {
  it('names every case once', () => {
    const named = INVENTORY.map((each) => each.id)
    expect(named.toSorted()).toEqual(IDS.toSorted())
    expect(new Set(named).size).toBe(named.length)
    expect(named).toHaveLength(339)
  })

  it('says what each case is about', () => {
    expect(INVENTORY.filter((each) => each.description.trim().length < 10).map((each) => each.id)).toEqual([])
  })

  it.each(INVENTORY.filter((each) => each.test !== undefined))(
    'pins $id with a test that is there',
    ({ id, test = '' }) => {
      const [file = '', title = ''] = test.split(/: (.*)/s)
      expect(title).toBe(`${id} `)
      expect(idsIn(sources.get(file) ?? '').filter((matches) => matches === id)).toEqual([id])
    },
  )

  it('pins every case that is same or different, and no other', () => {
    const pinned = [...sources.values()].flatMap(idsIn)
    const ours = INVENTORY.filter((each) => each.verdict !== 'not ours').map((each) => each.id)
    expect(pinned.toSorted()).toEqual(ours.toSorted())
    expect(withVerdict('not ours').filter((each) => each.test !== undefined)).toEqual([])
  })

  it('leaves no test out', () => {
    for (const source of sources.values())
      expect(source).not.toMatch(/\.(skip|todo|only|fails|skipIf|runIf)\b/)
  })

  it('names the rule of each difference', () => {
    const rule = /\b(U\d|D\d+|section \d|law [A-Z]\d+)\b/
    expect(
      withVerdict('different')
        .filter((each) => !rule.test(each.why ?? ''))
        .map((each) => each.id),
    ).toEqual([])
    expect(withVerdict('same').filter((each) => each.why !== undefined)).toEqual([])
  })

  it('names the owner of each case that is not ours', () => {
    const owner = /^a (matter|decision|path) |^the cache of /
    expect(
      withVerdict('not ours')
        .filter((each) => !owner.test(each.why ?? ''))
        .map((each) => each.id),
    ).toEqual([])
  })

  it('counts', () => {
    const verdicts: readonly Verdict[] = ['same', 'different', 'not ours']
    const counts = verdicts.map((verdict) => `${withVerdict(verdict).length} ${verdict}`)
    console.log(`inventory: ${INVENTORY.length} cases, ${counts.join(', ')}`)
    expect(verdicts.reduce((sum, verdict) => sum + withVerdict(verdict).length, 0)).toBe(IDS.length)
  })
})
