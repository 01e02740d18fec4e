import type { Fixture } from './fixture.ts'

/** A method of the official client, with a call and its expected result. */
export interface MethodRow {
  readonly client: string
  readonly method: string
  /** `works`: returns a correct value. `empty`: returns an empty value, for a missing feature. `rejected`: fails. */
  readonly status: 'works' | 'empty' | 'rejected'
  /** Why it is rejected. */
  readonly reason: string | null
  /** Null for a method that no test calls. */
  readonly call: ((fixture: Fixture) => Promise<unknown>) | null
  /** The result: a value, fields of an object, or a function that must return true for the result. */
  readonly expected: unknown
  /** Whether it needs a service that requires keys, or one that requires none. */
  readonly condition: 'both' | 'with keys' | 'without keys'
}

type Call = (fixture: Fixture) => Promise<unknown>

const row = (name: string, rest: Partial<MethodRow> & Pick<MethodRow, 'status'>): MethodRow => {
  const [client = '', method = ''] = name.split('.')
  return { client, method, reason: null, call: null, expected: undefined, condition: 'both', ...rest }
}

/** The method works. For `expected`, see `MethodRow`. */
export const works = (name: string, call: Call, expected: unknown): MethodRow =>
  row(name, { status: 'works', call, expected })

/** The method works only with keys, or only without. */
export const worksOnly = (
  condition: MethodRow['condition'],
  name: string,
  call: Call,
  expected: unknown,
): MethodRow => row(name, { status: 'works', call, expected, condition })

/** The method returns this empty value. */
export const empty = (name: string, call: Call, expected: unknown): MethodRow =>
  row(name, { status: 'empty', call, expected })

/** The method is rejected for this reason. */
export const rejected = (name: string, reason: string, call: Call): MethodRow =>
  row(name, { status: 'rejected', reason, call })

/** The method would be rejected, but no test can call it. */
export const untestedRejection = (name: string, reason: string): MethodRow =>
  row(name, { status: 'rejected', reason })
