/** What all readers of streams share: items that events open, continue and complete, and how a stream ends. */

import type { StreamingDeltaEvent } from '../event/types.ts'
import type { ReplyCollector, ReplyOutcome, Reply } from './reply.ts'
import { type Found, objectOf, readArguments, stringOf } from './text.ts'

/** How a grammar reads a stream. */
export interface StreamReader {
  /** Takes in an event, and returns what to publish of it. */
  readonly take: (event: Found) => readonly StreamingDeltaEvent[]
  /** Why the provider says that the reply failed; null where it does not. */
  readonly failure: () => ReplyOutcome | null
  /** Whether the provider has said that the reply is complete. */
  readonly isComplete: () => boolean
  /** Reads what has arrived; `ending` is null for a complete reply. */
  readonly read: (ending: ReplyOutcome | null) => Reply
}

/** Collects a stream. One that fails or breaks off keeps what live readers have seen. */
export function collectStream({ take, failure, isComplete, read }: StreamReader): ReplyCollector {
  const texts: string[] = []
  return {
    push: (given) => {
      const deltas = take(objectOf(given))
      for (const { content } of deltas) if (content !== undefined && content !== null) texts.push(content)
      return deltas
    },
    end: () => read(failure() ?? (isComplete() ? null : { type: 'broken_off', text: texts.join('') })),
  }
}

/** Marks a call whose arguments differ between two events. */
export const CONTRADICTED = Symbol('contradicted')

/** A value that arrives in pieces; joined at the end, so that the cost is linear. */
interface Pieces {
  readonly texts: string[]
  readonly list: unknown[]
  whole?: unknown
}

/** An item on its way. */
export interface StreamItem {
  /** Its place among the items, where the provider gives one. */
  order: number
  start: Found
  /** The latest account of the whole item. */
  whole: Found | null
  /** By path, such as `content.0.text`. */
  readonly pieces: Map<string, Pieces>
}

export const newItem = (start: Found, order = 0): StreamItem => ({
  order,
  start,
  whole: null,
  pieces: new Map(),
})

function piecesAt({ pieces }: StreamItem, path: string): Pieces {
  let found = pieces.get(path)
  if (found === undefined) pieces.set(path, (found = { texts: [], list: [] }))
  return found
}

/** Continues a text. */
export const addText = (item: StreamItem, path: string, text: string): void => {
  piecesAt(item, path).texts.push(text)
}

/** Adds a value to a list. */
export const addValue = (item: StreamItem, path: string, value: unknown): void => {
  piecesAt(item, path).list.push(value)
}

/** Sets a value; the latest one counts. */
export const setValue = (item: StreamItem, path: string, value: unknown): void => {
  piecesAt(item, path).whole = value
}

/**
 * The item of all events that name it: the latest whole account, and the pieces where that lacks a value. A call is
 * marked where two accounts of its arguments are complete and differ. O(length).
 */
export function closeItem({ start, whole, pieces }: StreamItem): Found {
  let item: Found = whole ?? start
  for (const [path, { texts, list, whole: set }] of pieces) {
    const steps = path.split('.', DEPTH)
    const known = valueAt(item, steps)
    const joined = texts.join('')
    let value = set
    if (list.length > 0) value = [...(Array.isArray(known) && whole === null ? known : []), ...list]
    else if (isLacking(value)) value = whole === null ? stringOf(known) + joined : joined
    if (path === 'arguments' && [joined, stringOf(set), stringOf(known)].some((text) => differs(text, value)))
      item = { ...item, [CONTRADICTED]: true }
    if ((whole === null || isLacking(known)) && !isLacking(value))
      item = withValue(item, steps, value) as Found
  }
  return item
}

/** Paths are no deeper. */
const DEPTH = 4

/** Empty values say nothing. */
const isLacking = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

const valueAt = (item: unknown, steps: readonly string[]): unknown =>
  steps.reduce((value: unknown, step) => (value as Found | null | undefined)?.[step], item)

function withValue(target: unknown, [step = '', ...rest]: readonly string[], value: unknown): unknown {
  const inner = rest.length === 0 ? value : withValue((target as Found | undefined)?.[step], rest, value)
  if (!/^\d+$/.test(step)) return { ...(target as object | undefined), [step]: inner }
  const list: readonly unknown[] = Array.isArray(target) ? target : []
  // A gap would be a part of nothing.
  const index = Math.min(Number(step), list.length)
  const before = list[index]
  const isPart = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
  return list.toSpliced(index, 1, isPart ? { ...(before as object | undefined), ...inner } : inner)
}

/** Whether two texts are complete arguments, and not the same. */
function differs(text: string, other: unknown): boolean {
  if (typeof other !== 'string' || text === other || text === '' || other === '') return false
  const [a, b] = [readArguments(text), readArguments(other)]
  return a !== null && b !== null && JSON.stringify(a) !== JSON.stringify(b)
}
