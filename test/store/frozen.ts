/** What was published of the schemas: the text of each step by its hash, and databases as old versions left them. */

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'

const FOLDER = join(import.meta.dirname, 'migrations')

/** A text in 16 digits. */
const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16)

/**
 * Holds the steps to the hashes of those published, and to a file for each version, from which the tests build a database of it.
 * @param what the adapter, as the names of the files begin
 */
export function expectFrozen(what: string, steps: readonly string[], published: readonly string[]): void {
  for (const [i, hash] of published.entries()) {
    const sentence = `Step ${i + 1} of ${what} was published, and databases have it: put its text back, and add a new step at the end.`
    expect(digest(steps[i] ?? ''), sentence).toBe(hash)
  }
  const added = `A new step of ${what} needs its hash in this test, and ${what}-${steps.length}.sql, a database as it leaves one.`
  expect(steps.map(digest), added).toEqual(published)
  expect(versionsOf(what), added).toEqual(steps.map((_, i) => i + 1))
}

/** Holds a text that may change to the hash of its revision. */
export function expectRevision(text: string, revision: number, published: readonly string[]): void {
  const sentence =
    'The functions have changed: count their revision up, and put the hash of the new text at the end of the list.'
  expect([revision, digest(text)], sentence).toEqual([published.length, published.at(-1)])
}

/** The versions that there is a database of. */
export const versionsOf = (what: string): number[] =>
  readdirSync(FOLDER)
    .flatMap((name) => new RegExp(`^${what}-(\\d+)\\.sql$`).exec(name)?.[1] ?? [])
    .map(Number)
    .toSorted((a, b) => a - b)

/** The statements that make a database of an old version, written down when it was the latest. */
export const oldDatabase = (what: string, version: number): string =>
  readFileSync(join(FOLDER, `${what}-${version}.sql`), 'utf8')
