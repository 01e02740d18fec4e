import type { World } from './clients.ts'

/** A method of the official client, and its result here. */
export interface Row {
  readonly client: string
  readonly method: string
  /** `works`: returns a correct value. `empty`: returns an empty value, for a missing feature. `out`: rejected. */
  readonly as: 'works' | 'empty' | 'out'
  /** Why it is rejected. */
  readonly why: string | null
  /** Null for a method that no test calls. */
  readonly call: ((world: World) => Promise<unknown>) | null
  /** The result: a value, fields of an object, or a function that must return true for the result. */
  readonly gives: unknown
  /** Whether it needs a service that requires keys, or one that requires none. */
  readonly where: 'both' | 'with keys' | 'without keys'
}

type Call = (world: World) => Promise<unknown>

const row = (name: string, rest: Partial<Row> & Pick<Row, 'as'>): Row => {
  const [client = '', method = ''] = name.split('.')
  return { client, method, why: null, call: null, gives: undefined, where: 'both', ...rest }
}

/** The method works. For `gives`, see `Row`. */
export const works = (name: string, call: Call, gives: unknown): Row =>
  row(name, { as: 'works', call, gives })

/** The method works only with keys, or only without. */
export const worksWhere = (where: Row['where'], name: string, call: Call, gives: unknown): Row =>
  row(name, { as: 'works', call, gives, where })

/** The method returns this empty value. */
export const empty = (name: string, call: Call, gives: unknown): Row =>
  row(name, { as: 'empty', call, gives })

/** The method is rejected for this reason. */
export const out = (name: string, why: string, call: Call): Row => row(name, { as: 'out', why, call })

/** The method would be rejected, but no test can call it. */
export const outUntried = (name: string, why: string): Row => row(name, { as: 'out', why })
