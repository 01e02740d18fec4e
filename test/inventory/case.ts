/** Cases of the inventory, with the tests that pin them. */

export type Verdict = 'same' | 'different' | 'not ours'

/** A case and its verdict. `why` names the design rule that differs, or the owner of a case outside the log. */
export interface Case {
  readonly id: string
  readonly description: string
  readonly verdict: Verdict
  /** A file of this folder, and the start of the test's title. */
  readonly test?: string
  readonly why?: string
}

/** A row of the table. `file` is the test file without its extension. */
export type Row =
  | readonly [id: string, verdict: 'same', file: string, description: string]
  | readonly [id: string, verdict: 'different', file: string, description: string, why: string]
  | readonly [id: string, verdict: 'not ours', description: string, why: string]

/** The owner of cases outside the log. */
export const AGENT =
  'a matter of the agent: it owns the model, tools, budget and workspace, which are not in the log'

export function caseOf(row: Row): Case {
  if (row[1] === 'not ours') return { id: row[0], verdict: row[1], description: row[2], why: row[3] }
  const [id, verdict, file, description, why] = row
  return { id, verdict, description, test: `${file}.test.ts: ${id} `, ...(why === undefined ? {} : { why }) }
}
