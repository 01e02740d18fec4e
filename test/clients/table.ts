/** The words of the table of calls: what a method of the official client comes to here. */

import type { World } from './clients.ts'

/** One method of the official client. */
export interface Row {
  readonly client: string
  readonly method: string
  /** `works`: it gives a value that is right. `empty`: a list of the product, with nothing in it. `out`: refused. */
  readonly as: 'works' | 'empty' | 'out'
  /** Why it is out. */
  readonly why: string | null
  /** Null for one that asks nothing of a server. */
  readonly call: ((world: World) => Promise<unknown>) | null
  /** What a call gives: a value, or part of an object; or a question that must be answered with true. */
  readonly gives: unknown
  /** Whether it needs a service that asks for keys, or one that asks for none. */
  readonly where: 'both' | 'with keys' | 'without keys'
}

type Call = (world: World) => Promise<unknown>

const row = (name: string, rest: Partial<Row> & Pick<Row, 'as'>): Row => {
  const [client = '', method = ''] = name.split('.')
  return { client, method, why: null, call: null, gives: undefined, where: 'both', ...rest }
}

/** It works: the call gives this value, or an object with at least these fields; or the question holds of it. */
export const works = (name: string, call: Call, gives: unknown): Row =>
  row(name, { as: 'works', call, gives })

/** The same, where keys are asked for, or where none are. */
export const worksWhere = (where: Row['where'], name: string, call: Call, gives: unknown): Row =>
  row(name, { as: 'works', call, gives, where })

/** It gives this, which is empty, to whoever asks. */
export const empty = (name: string, call: Call, gives: unknown): Row =>
  row(name, { as: 'empty', call, gives })

/** It is refused, for this reason. */
export const out = (name: string, why: string, call: Call): Row => row(name, { as: 'out', why, call })

/** It needs what no test of a server has. */
export const outUntried = (name: string, why: string): Row => row(name, { as: 'out', why })
