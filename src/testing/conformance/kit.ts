import { checkOptionNames } from '../../event/check-value.ts'
import type { Store } from '../../store/contract/store.ts'
import { kitCase, skipReasons } from '../failure.ts'
import { APPEND_IDS, APPEND_IMPORT, APPEND_SHAPE, APPEND_TREE, APPEND_VERSION } from './append.ts'
import { BODIES_KEPT, REPLACING } from './bodies.ts'
import { BLOBS } from './blobs.ts'
import type { Check, OwnRows, Trial } from './check.ts'
import { CONVERSATIONS, LIST_BOUNDS, LISTS } from './conversations.ts'
import { FEED } from './feed.ts'
import { ITEM_LISTS, ITEMS } from './items.ts'
import { LASTING } from './lasting.ts'
import { LEASES } from './leases.ts'
import { OWN_ROWS } from './own-rows.ts'
import { CURSORS, PATHS, SEARCHING, TIMES } from './searching.ts'
import { READING } from './reading.ts'
import { SNAPSHOTS } from './snapshots.ts'
import { TEXTS } from './texts.ts'
import { WATCHING } from './watching.ts'

const CASES_BY_CALL = {
  append: [...APPEND_IDS, ...APPEND_VERSION, ...APPEND_TREE, ...APPEND_SHAPE],
  import: APPEND_IMPORT,
  within: OWN_ROWS,
  read: READING,
  search: [...SEARCHING, ...TIMES, ...PATHS, ...CURSORS],
  conversations: [...CONVERSATIONS, ...LISTS, ...LIST_BOUNDS],
  leases: LEASES,
  snapshots: SNAPSHOTS,
  feed: FEED,
  items: [...ITEMS, ...ITEM_LISTS],
  watch: WATCHING,
  bodies: BODIES_KEPT,
  replace: REPLACING,
  blobs: BLOBS,
  lasting: LASTING,
  text: TEXTS,
} as const satisfies Readonly<Record<string, readonly Check[]>>

const CHECKS: readonly Check[] = Object.values(CASES_BY_CALL).flat()

/** A part of the kit: the cases of related methods. A new store can pass the parts one by one. */
export type ConformancePart = keyof typeof CASES_BY_CALL

/** The store to test. */
export interface ConformanceOptions {
  /** Name of the store, for error messages. */
  readonly name: string
  /** Opens an empty store; the case closes it. */
  open(): Promise<Store>
  /**
   * Opens the data of an open or closed store again, as a second process or a restart after a crash would.
   * In-memory stores omit `reopen`; the cases that need it are then left out.
   */
  reopen?(store: Store): Promise<Store>
  /** A table in the store's database, to test `within`. Without `rows`, the store must reject `within`. */
  readonly rows?: OwnRows
  /** Maximum milliseconds until a watch calls its callback. Default: 20,000. */
  readonly watchTimeout?: number
  /** Whether the store has a text index. If not, cases of text search are left out. Default: false. */
  readonly fullText?: boolean
  /** Parts to test, for a store under construction. Default: all. */
  readonly parts?: readonly ConformancePart[]
  /**
   * `quick` omits large data and runs a fifth of the random trials, for development. Default: `whole`,
   * which every finished store must pass.
   */
  readonly size?: 'whole' | 'quick'
  /** Full names of the cases that the store is known to fail, each with the reason. */
  readonly skip?: readonly { readonly case: string; readonly reason: string }[]
}

/** One case of the kit, for one test. */
export interface ConformanceCase {
  readonly name: string
  /** The reason why the case is skipped, or null. */
  readonly skipped: string | null
  /**
   * Runs the case on its own store. Rejects if the store breaks the contract; a skipped case does nothing.
   */
  run(): Promise<void>
}

/**
 * Returns the cases that every store must pass. They test each sentence of `Store`'s contract, the laws whose
 * numbers begin with C or S, and the amounts of data that a store must support. Run them in sequence; on a
 * slow disk a case may need some seconds.
 * @throws Error if `skip` has an unknown case or an empty reason.
 * @example
 * const cases = storeConformance({ name: 'mine', open: async () => Promise.reject(new Error('not yet')) })
 * // for (const { name, run } of cases) it(name, run)
 * cases.every(({ skipped }) => skipped === null) // true
 */
export function storeConformance(options: ConformanceOptions): ConformanceCase[] {
  checkOptionNames(options, 'name open reopen rows watchTimeout fullText parts size skip')
  const { parts, size = 'whole', fullText = false } = options
  const reasons = skipReasons(CHECKS, options)
  const checks = (parts?.flatMap((part): readonly Check[] => CASES_BY_CALL[part]) ?? CHECKS)
    .filter((check) => fullText || !TEXTS.includes(check))
    .filter(({ reopens }) => reopens !== true || options.reopen !== undefined)
    .filter(({ large }) => large !== true || size === 'whole')
  return checks.map((check) => kitCase(check.name, reasons.get(check.name), () => tryOn(check, options)))
}

async function tryOn(check: Check, options: ConformanceOptions): Promise<void> {
  const opened: Store[] = []
  const open = async (store: Promise<Store>): Promise<Store> => {
    opened.push(await store)
    return store
  }
  try {
    const store = await open(options.open())
    const trial: Trial = {
      store,
      rows: options.rows ?? null,
      watchTimeout: options.watchTimeout ?? 20_000,
      runsOf: (whole) => (options.size === 'quick' ? Math.ceil(whole / 5) : whole),
      another: () => open(options.open()),
      reopen: async () => {
        if (options.reopen === undefined) throw new Error(`${options.name} cannot be opened again`)
        return open(options.reopen(store))
      },
    }
    await check.run(trial)
  } catch (error) {
    throw new Error(
      `${options.name}: ${check.name}\n${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  } finally {
    for (const store of opened) await store.close()
  }
}
