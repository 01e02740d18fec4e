/** One case of the inventory: a line of its table goes in, the case with the test that pins it comes out. */

export type Verdict = 'same' | 'different' | 'not ours'

/** What becomes of a case. `why` names the rule of the design that says otherwise, or who owns a case that is not ours. */
export interface Case {
  readonly id: string
  readonly says: string
  readonly verdict: Verdict
  /** A file of this folder, and the beginning of the title of the test in it. */
  readonly test?: string
  readonly why?: string
}

/** A line of the table. `file` is the test's file without its ending. */
export type Row =
  | readonly [id: string, verdict: 'same', file: string, says: string]
  | readonly [id: string, verdict: 'different', file: string, says: string, why: string]
  | readonly [id: string, verdict: 'not ours', says: string, why: string]

/** Who owns what the log does not speak of. */
export const AGENT =
  'a matter of the agent: model, tools, budget and workspace are its own, and no part of the log'

/** The case that a line tells of. */
export function caseOf(row: Row): Case {
  if (row[1] === 'not ours') return { id: row[0], verdict: row[1], says: row[2], why: row[3] }
  const [id, verdict, file, says, why] = row
  return { id, verdict, says, test: `${file}.test.ts: ${id} `, ...(why === undefined ? {} : { why }) }
}
