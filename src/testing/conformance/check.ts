import * as fc from 'fast-check'
import type { Store } from '../../store/contract/store.ts'
import { begin } from './facts.ts'

/** A table of the caller, in the store's database. */
export interface OwnRows {
  /** Adds a row, and creates the table if needed. Synchronous if the store requires a synchronous `within`. */
  insert(tx: unknown, text: string): unknown
  list(tx: unknown): readonly string[] | Promise<readonly string[]>
}

/** A store to test, empty at first. The kit closes everything that a trial opens. */
export interface Trial {
  readonly store: Store
  /** Opens the data of `store` again, as a second process or a restart after a crash would. */
  readonly reopen: () => Promise<Store>
  readonly another: () => Promise<Store>
  /** A table in the store's database, for checks of `within`; null if the store refuses `within`. */
  readonly rows: OwnRows | null
  /** Maximum milliseconds until a watch calls its callback. */
  readonly watchTimeout: number
  readonly runsOf: (whole: number) => number
}

export interface Check {
  readonly name: string
  readonly reopens?: true
  /** Whether the check tests only large data; the size `quick` omits such checks. */
  readonly large?: true
  run(trial: Trial): Promise<void>
}

type Run = (store: Store, trial: Trial) => Promise<void>

export const test = (name: string, run: Run): Check => ({ name, run: (trial) => run(trial.store, trial) })

export const it = (name: string, run: (store: Store, id: string) => Promise<void>): Check =>
  test(name, async (store) => run(store, await begin(store, 'c')))

export const reopening = (name: string, run: Run): Check => ({ ...test(name, run), reopens: true })

export const generated = <T>(
  name: string,
  runs: number,
  values: fc.Arbitrary<T>,
  run: (store: Store, id: string, value: T) => Promise<void>,
): Check =>
  test(name, async (store, { runsOf }) => {
    let count = 0
    await forAll(values, runsOf(runs), async (value) => {
      count += 1
      await run(store, await begin(store, `c${count}`), value)
    })
  })

export const forAll = <T>(
  values: fc.Arbitrary<T>,
  numRuns: number,
  run: (value: T) => Promise<void>,
): Promise<void> => fc.assert(fc.asyncProperty(values, run), { numRuns })

/** Generates records with few of these fields: a field is missing `absent` times as often as it is present. */
export const someOf = <T extends object>(
  fields: { readonly [K in keyof T]: fc.Arbitrary<T[K]> },
  absent: number,
): fc.Arbitrary<Partial<T>> => {
  const none = { weight: absent, arbitrary: fc.constant(undefined) }
  const optional = Object.entries<fc.Arbitrary<unknown>>(fields).map(([name, arbitrary]) =>
    fc.oneof(none, { weight: 1, arbitrary: arbitrary.map((value) => [name, value] as const) }),
  )
  return fc
    .tuple(...optional)
    .map((entries) => Object.fromEntries(entries.filter((entry) => entry !== undefined)) as Partial<T>)
}

export const large = (name: string, run: Run): Check => ({ ...test(name, run), large: true })

export const alsoInTwoProcesses = (
  alone: string,
  together: string,
  run: (store: Store, other: Store, trial: Trial) => Promise<void>,
): Check[] => [
  test(alone, (store, trial) => run(store, store, trial)),
  reopening(together, async (store, trial) => run(store, await trial.reopen(), trial)),
]
