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

/**
 * One in so many values is looked at. Without a fault only a few are, unless all faults are played: that all laws hold of
 * the project as it is, the properties say.
 */
export const ONE_IN = process.argv[3] === '' && process.env['COLLOQUY_FAULTS'] !== 'all' ? 10 : 1

const some = <T>(values: readonly T[]): T[] => values.filter((_, index) => index % ONE_IN === 0)

function few(corpus: Corpus): Corpus {
  const { logs, loops, events, hidden, broken, lines } = corpus
  return {
    logs: some(logs),
    loops: some(loops),
    events: some(events),
    hidden: some(hidden),
    broken: some(broken),
    lines,
  }
}

/** Checks the corpus whose file the child was given. */
export function sayVerdict(total: string, check: (corpus: Corpus) => void): void {
  try {
    const corpus = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Corpus
    check(frozenCopy(few(corpus)))
    console.log(SOUND)
  } catch (error) {
    console.log(lawOf(error, total))
  }
}
