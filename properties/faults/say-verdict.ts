/** Runs checks in a copy of the project, and prints the first broken law. */

import { readFileSync } from 'node:fs'
import type { Corpus } from './corpus.ts'
import { frozenCopy } from './frozen-copy.ts'

/** The law that an error names; otherwise `total`, which forbids throwing. */
export const lawOf = (error: unknown, total: string): string =>
  error instanceof Error && error.name === 'LawBroken'
    ? error.message.slice(0, 300)
    : `${total}: ${String(error).slice(0, 300)}`

export const SOUND = 'all laws hold'

/** Checks a sample without a fault, unless all faults are tried: the properties check the project. */
export const ONE_IN = process.argv[3] === '' && process.env['COLLOQUY_FAULTS'] !== 'all' ? 40 : 1

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

export function sayVerdict(total: string, check: (corpus: Corpus) => void): void {
  try {
    const corpus = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Corpus
    check(frozenCopy(few(corpus)))
    console.log(SOUND)
  } catch (error) {
    console.log(lawOf(error, total))
  }
}
