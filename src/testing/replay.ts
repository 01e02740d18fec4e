import * as fc from 'fast-check'
import { checkNumber, checkOptionNames, invalidArgument } from '../event/check-value.ts'
import { isPlain } from '../event/freeze.ts'
import { setOwn } from '../event/json.ts'
import { loadLine } from '../event/load.ts'
import type { Fact } from '../event/quarantine.ts'
import { describeFailure, LawBroken, same, throwIfFailed, total } from './failure.ts'
import { frozenCopy, frozenInPlace as frozen, textOf } from './text-of.ts'

/** The fold to test: `S` is its state, `Kept` the form in which a state is stored. */
export interface ReplaySubject<S, Kept = unknown> {
  readonly initial: S
  readonly reduce: (state: S, fact: Fact) => S
  /** Returns the value to compare. Default: the result of `encode`, or the state if there is no `encode`. */
  readonly project?: (state: S) => unknown
  /** Converts a state to its stored form. With `decode`, the test also continues from stored states. */
  readonly encode?: (state: S) => Kept
  readonly decode?: (stored: Kept) => S
  readonly upcast?: (fact: Fact) => Fact
}

/** Options of a test with arbitrary logs. A failure reports its seed and path. */
export interface ReplayTestOptions {
  /** Number of logs. Default: 100. */
  readonly numRuns?: number
  readonly seed?: number
  readonly path?: string
}

/**
 * Tests a fold against the laws of replay. A fold in two parts must equal the whole fold (R1). `reduce` must be
 * total (R2), pure (R3) and deterministic, even for facts that were serialized (R5). It must continue from an
 * old state in several ways at once (R6), and from stored states (R7). The upcaster must be idempotent (E1).
 * Facts and states are deep frozen; maps, sets and class instances are compared before and after each call.
 *
 * Calls `reduce` about 30 n times for a log of n events, and reads each state three times. A log of at most 16
 * events is cut at every index, so it costs more per event.
 * @throws Error with the law, its sentence, the seed and the smallest failing log, as `describeFailure`
 *   writes it. Also throws if a state contains an object without readable fields, such as a promise, or if the
 *   log or a number is invalid.
 * @example
 * const reduce = (state, fact) => ({ messages: state.messages + (fact.kind === 'MessageEvent' ? 1 : 0) })
 * const counts = { initial: { messages: 0 }, reduce }
 * replayTest([{ kind: 'PauseEvent', id: 'p', source: 'user' }], counts)
 * replayTest(legalLog(), counts, { numRuns: 5 })
 */
export function replayTest<S, Kept = unknown>(
  log: readonly (Fact | string)[] | fc.Arbitrary<readonly Fact[]>,
  subject: ReplaySubject<S, Kept>,
  options: ReplayTestOptions = {},
): void {
  checkOptionNames(options, 'numRuns seed path')
  const numRuns = checkNumber('numRuns', options.numRuns ?? 100, { least: 1 })
  if (log instanceof fc.Arbitrary) {
    const property = fc.property(log, (facts) => checkReplayOf(facts, subject))
    throwIfFailed(fc.check(property, { ...options, numRuns }), ([facts]) => facts)
    return
  }
  const facts = factsOf(log)
  const first = brokenBy(facts, subject)
  if (first === null) return
  const law = first instanceof LawBroken ? first.law : null
  const fails = (fewer: readonly Fact[]): boolean => {
    const error = brokenBy(fewer, subject)
    return error !== null && (error instanceof LawBroken ? error.law : null) === law
  }
  const few = shrunk(facts, fails)
  const error = brokenBy(few, subject) ?? first
  throw new Error(describeFailure({ error, facts: few }), { cause: error })
}

/** Returns the facts of a recorded log. @throws ColloquyError `invalid_argument` unless the log is a list. */
export function factsOf(log: readonly (Fact | string)[]): Fact[] {
  if (!Array.isArray(log)) invalidArgument('log', 'must be a list of lines or events')
  return log.map((item) => (typeof item === 'string' ? loadLine(item).fact : item))
}

function brokenBy<S, Kept>(facts: readonly Fact[], subject: ReplaySubject<S, Kept>): unknown {
  try {
    checkReplayOf(facts, subject)
    return null
  } catch (error) {
    return error
  }
}

function checkReplayOf<S, Kept>(inputs: readonly Fact[], subject: ReplaySubject<S, Kept>): void {
  const { encode, decode } = subject
  const initial = frozen(withOwnMaps(subject.initial))
  const facts = inputs.map((fact) => frozenCopy(fact))
  const before = JSON.stringify(facts)
  const fold = (from: S, list: readonly Fact[]): S =>
    list.reduce((state, fact) => step(subject, state, fact), from)
  const textOfState = (state: S): string => readingOf(subject, state)

  const states = [initial]
  const texts = [textOfState(initial)]
  for (const [index, fact] of facts.entries()) {
    const state = states[index] as S
    const next = step(subject, state, fact)
    // Maps and sets cannot be frozen: only their text shows a change.
    const what = `the state after ${index} events, when reduce of ${factName(fact)} returned`
    same('R3', what, textOfState(state), texts[index])
    states.push(next)
    texts.push(textOfState(next))
  }
  const last = texts.at(-1) ?? ''
  same('R5', 'a second fold', textOfState(fold(initial, facts)), last)
  const readAgain = JSON.parse(before) as readonly Fact[]
  same('R5', 'the fold of facts that were written and read', textOfState(fold(initial, readAgain)), last)
  for (const index of cuts(facts.length)) {
    const [state, rest] = [states[index] as S, facts.slice(index)]
    same('R1', `the fold resumed after ${index} events`, textOfState(fold(state, rest)), last)
    checkContinuations(subject, facts, initial, state, index)
    if (encode === undefined || decode === undefined) continue
    const stored = total('R7', `decoding state ${index}`, () => frozen(decode(encode(state))))
    same('R7', `the decoded state after ${index} events`, textOfState(stored), texts[index])
    same('R7', `the fold of a decoded state after ${index} events`, textOfState(fold(stored, rest)), last)
  }
  for (const [index, state] of states.entries())
    same('R3', `the state after ${index} events, at the end`, textOfState(state), texts[index])
  same('R3', 'the facts after all folds', JSON.stringify(facts), before)
}

function step<S, Kept>({ reduce, upcast }: ReplaySubject<S, Kept>, state: S, fact: Fact): S {
  const now = upcast === undefined ? fact : upcastOnce(upcast, fact)
  try {
    return frozen(reduce(state, now))
  } catch (error) {
    const isChange = error instanceof TypeError && CHANGES.test(error.message)
    const what = `reduce of ${factName(fact)} threw ${String(error)}`
    throw new LawBroken(isChange ? 'R3' : 'R2', what, { cause: error })
  }
}

const CHANGES =
  /read[ -]?only|not extensible|Cannot (?:delete|define) property|object that is frozen|unconfigurable/i

const factName = (fact: Fact): string =>
  `${'kind' in fact ? fact.kind : 'a quarantined line'} ${JSON.stringify(fact.id ?? null)}`

function upcastOnce(upcast: (fact: Fact) => Fact, fact: Fact): Fact {
  const once = total('R2', `upcasting ${factName(fact)}`, () => frozen(upcast(fact)))
  same('E1', `${factName(fact)}, upcast twice`, textOf(upcast(once)), textOf(once))
  return once
}

/** Checks R6: three folds continue one old state with different lists of facts, and take turns after every fact. */
function checkContinuations<S, Kept>(
  subject: ReplaySubject<S, Kept>,
  facts: readonly Fact[],
  initial: S,
  from: S,
  index: number,
): void {
  const rest = facts.slice(index)
  const lists = [rest, rest.slice(1), rest.toReversed()]
  const ways = lists.map((list) => ({ list, state: from }))
  for (let n = 0; n < rest.length; n += 1) {
    for (const way of ways) {
      const fact = way.list[n]
      if (fact !== undefined) way.state = step(subject, way.state, fact)
    }
  }
  for (const { list, state } of ways) {
    const alone = [...facts.slice(0, index), ...list].reduce((one, fact) => step(subject, one, fact), initial)
    const what = `one of three continuations after ${index} events`
    same('R6', what, readingOf(subject, state), readingOf(subject, alone))
  }
}

function readingOf<S, Kept>({ project, encode }: ReplaySubject<S, Kept>, state: S): string {
  if (project !== undefined) return total('R2', 'project', () => textOf(project(state)))
  return encode === undefined ? textOf(state) : total('R2', 'encode', () => textOf(encode(state)))
}

/** Logs up to this length are cut at every index, so that a shrunk log still has the failing cut. */
const SHORT_LENGTH = 16

function cuts(length: number): number[] {
  const stride = length <= SHORT_LENGTH ? 1 : Math.ceil(length / 4)
  return Array.from({ length: Math.ceil(length / stride) }, (_, n) => n * stride)
}

/**
 * Copies maps and sets, and the plain objects and lists around them, but no class instances. If a value has
 * no maps or sets, returns the value itself. O(size).
 */
function withOwnMaps<T>(value: T): T {
  // Shared and circular values are copied once.
  const copies = new Map<unknown, unknown>()
  const copyOf = (inner: unknown): unknown => {
    const known = copies.get(inner)
    const copy = known ?? emptyCopy(inner)
    if (known !== undefined || copy === null) return known ?? inner
    copies.set(inner, copy)
    if (inner instanceof Map)
      for (const [key, one] of inner) (copy as typeof inner).set(copyOf(key), copyOf(one))
    else if (inner instanceof Set) for (const one of inner) (copy as typeof inner).add(copyOf(one))
    else for (const [key, one] of Object.entries(inner as object)) setOwn(copy, key, copyOf(one))
    return copy
  }
  const copy = copyOf(value) as T
  return [...copies.keys()].some((one) => one instanceof Map || one instanceof Set) ? copy : value
}

/** Returns an empty map, set, list or object of the value's type; null for a primitive or a class instance. */
function emptyCopy(value: unknown): object | null {
  if (typeof value !== 'object' || value === null) return null
  const prototype = Object.getPrototypeOf(value) as object | null
  if (prototype === Map.prototype) return new Map()
  if (prototype === Set.prototype) return new Set()
  if (prototype === Array.prototype) return []
  return isPlain(value) ? (Object.create(prototype) as object) : null
}

const MAX_TRIES = 2_000

/** Removes items that are not needed for the failure: halves, then quarters, down to single items. */
function shrunk<T>(list: readonly T[], fails: (fewer: readonly T[]) => boolean): readonly T[] {
  let remaining = list
  let tries = 0
  for (let size = Math.ceil(remaining.length / 2); size >= 1 && remaining.length > 1;) {
    let isFewer = false
    for (let index = 0; index < remaining.length && tries < MAX_TRIES;) {
      const fewer = [...remaining.slice(0, index), ...remaining.slice(index + size)]
      tries += 1
      if (fewer.length < remaining.length && fails(fewer)) {
        remaining = fewer
        isFewer = true
      } else index += size
    }
    if (tries >= MAX_TRIES || (size === 1 && !isFewer)) break
    size = size === 1 ? 1 : Math.ceil(size / 2)
  }
  return remaining
}
