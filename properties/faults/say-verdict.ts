/** Runs checks in a copy of the project: checks go in, the first law that does not hold comes out on standard output. */

import { readFileSync } from 'node:fs'
import type { Corpus } from './corpus.ts'
import { frozenCopy } from './frozen-copy.ts'

/** The law that an error names, or this one, which says that nothing is thrown. */
export const lawOf = (error: unknown, total: string): string =>
  error instanceof Error && error.name === 'LawBroken'
    ? error.message.slice(0, 300)
    : `${total}: ${String(error).slice(0, 300)}`

/** What is said where no law is broken. */
export const SOUND = 'all laws hold'

/** Checks the corpus whose file the child was given. */
export function sayVerdict(total: string, check: (corpus: Corpus) => void): void {
  try {
    check(frozenCopy(JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Corpus))
    console.log(SOUND)
  } catch (error) {
    console.log(lawOf(error, total))
  }
}
