import { checkOptionNames } from '../event/check-value.ts'
import { isObject } from '../event/json.ts'
import type { StreamingDeltaEvent } from '../event/types.ts'
import { BROKEN, failureOf, hasSameArguments } from './reply.ts'
import type { ReadOptions, Reply, ReplyCollector, ReplyOutcome } from './reply.ts'
import { joinArguments, objectOf, objectsOf, readArguments, stringOf, textOfInput } from './text.ts'
import type { RawObject } from './text.ts'

interface StreamReader {
  readonly push: (event: RawObject) => readonly StreamingDeltaEvent[]
  /** Returns the failure that an event reports. Default: reads the event's `error`. */
  readonly failureIn?: (event: RawObject) => ReplyOutcome | null
  readonly isComplete: () => boolean
  /** Returns the reply so far, in the form of a reply that was not streamed. */
  readonly whole: () => object
}

/** Collects a stream. If it fails or breaks off, the reply keeps the content that live readers have seen. */
export function collectStream(
  read: (reply: never, options: ReadOptions) => Reply,
  options: ReadOptions,
  { push: take, failureIn = failureOf, isComplete, whole }: StreamReader,
): ReplyCollector {
  checkOptionNames(options, 'request state tools')
  const texts: string[] = []
  let failure: ReplyOutcome | null = null
  return {
    push: (input) => {
      const event = objectOf(input)
      failure = failureIn(event) ?? failure
      const deltas = take(event)
      for (const { content } of deltas) if (content !== undefined && content !== null) texts.push(content)
      return deltas
    },
    end() {
      const broken = failure ?? (isComplete() ? null : { type: 'broken_off' as const, text: texts.join('') })
      return read({ ...whole(), ...(broken !== null && { [BROKEN]: broken }) } as never, options)
    },
  }
}

/** Marks a call whose arguments differ between two events. */
export const CONTRADICTED = Symbol('contradicted')

/** A value that arrives in pieces, which are joined at the end so that the cost is linear. */
interface Pieces {
  readonly texts: string[]
  readonly list: unknown[]
  whole?: unknown
}

export interface StreamItem {
  order: number
  start: RawObject
  whole: RawObject | null
  /** Pieces of values, by path, such as `content.0.text`. */
  readonly pieces: Map<string, Pieces>
  /**
   * Names of lists, such as `content`, whose pieces arrived without an index. The pieces of such a list are
   * ignored if the whole item, which arrives at the end, has a text in this list.
   */
  readonly unplaced: Set<string>
  isEnded: boolean
}

export const newItem = (start: RawObject, order = 0): StreamItem => ({
  order,
  start,
  whole: null,
  pieces: new Map(),
  unplaced: new Set(),
  isEnded: false,
})

/**
 * Collects the items of a stream by index. Some servers use one index for several items. The index then
 * refers to the latest item. A delta of another kind, or after the item's end, begins another item.
 */
export function itemsByIndex(kindOf: (item: RawObject) => unknown, calls: string) {
  const all: StreamItem[] = []
  const byIndex = new Map<unknown, StreamItem>()
  return {
    all,
    byIndex,
    /** Opens an item. If the item at `index` has the same id, the start continues that item. */
    open(index: unknown, start: RawObject, id = start['id']): StreamItem {
      const known = byIndex.get(index)
      if (known !== undefined && id !== undefined && known.start['id'] === id) return known
      const item = newItem(start)
      all.push(item)
      byIndex.set(index, item)
      return item
    },
    end(index: unknown): void {
      const item = byIndex.get(index)
      if (item !== undefined) item.isEnded = true
    },
    /** Finds a delta's item. Streamed arguments whose index has no call belong to the latest call. */
    find(index: unknown, kind: unknown): StreamItem | undefined {
      const known = byIndex.get(index)
      if (known !== undefined && !known.isEnded && kindOf(known.start) === kind) return known
      return kind === calls ? all.findLast(({ start }) => kindOf(start) === kind) : undefined
    },
  }
}

export function joinPieces(pieces: readonly RawObject[], streamed: readonly string[]): RawObject {
  const fields = new Map<string, unknown[]>()
  for (const piece of pieces) gather(fields, piece)
  const whole = [...fields].map(([field, values]) => [
    field,
    streamed.includes(field) ? joinValues(values) : values.at(-1),
  ])
  return { ...pieces[0], ...Object.fromEntries(whole) }
}

/** Collects the values of each field. They are joined at the end, so that the cost is linear. */
export function gather(fields: Map<string, unknown[]>, piece: RawObject): void {
  for (const [field, value] of Object.entries(piece)) {
    if (value === null || value === undefined) continue
    const known = fields.get(field)
    if (known === undefined) fields.set(field, [value])
    else known.push(value)
  }
}

export function joinValues(values: readonly unknown[]): unknown {
  if (values.some(Array.isArray)) return values.flat()
  const last = values.at(-1)
  return typeof last === 'string' ? values.map(stringOf).join('') : last
}

export function piecesAt({ pieces }: StreamItem, path: string): Pieces {
  const known = pieces.get(path) ?? { texts: [], list: [] }
  pieces.set(path, known)
  return known
}

/** How a field of a delta extends a field of its block. */
export interface DeltaField {
  /** Path, in the block, of the field that the delta extends. */
  readonly to: string
  /** `text`, `json`: pieces are joined. `list`: a piece is an item. `value`: a piece is the whole field. */
  readonly as: 'text' | 'json' | 'list' | 'value'
  /** Whether the field is dropped if the block did not end. For example, half a signature is invalid. */
  readonly onlyWhole?: true
  /** The delta's `type`, if the provider's deltas have one. */
  readonly type?: string
  /** The start event to assume if a block has none, and a delta of this field arrives. */
  readonly begins?: RawObject
  readonly publish?: (text: string) => StreamingDeltaEvent[]
}

/** Fields of deltas, by their path in the delta. */
export type DeltaFields = Readonly<Record<string, DeltaField>>

/** Adds a delta. If a field of the delta is not in `fields`, it extends the block's field of the same name. */
export function addDelta(item: StreamItem, delta: RawObject, fields: DeltaFields): StreamingDeltaEvent[] {
  const add = (path: string, value: unknown): StreamingDeltaEvent[] => {
    const known = Object.hasOwn(fields, path) ? fields[path] : undefined
    const { to, as, begins, publish } = known ?? { to: path, as: 'text' }
    if (begins !== undefined && Object.keys(item.start).length === 0) item.start = begins
    const pieces = piecesAt(item, to)
    if (as === 'list') pieces.list.push(value)
    else if (as === 'value' || typeof value !== 'string') pieces.whole = value
    else pieces.texts.push(value)
    return typeof value === 'string' ? (publish?.(value) ?? []) : []
  }
  return Object.entries(delta).flatMap(([name, value]) => {
    if (name === 'type') return []
    if (Object.hasOwn(fields, name) || !isObject(value)) return add(name, value)
    return Object.entries(value).flatMap(([inner, each]) => add(`${name}.${inner}`, each))
  })
}

/**
 * Merges an item's events, and parses fields that arrived as JSON. Invalid JSON remains text, so a call with
 * such arguments is not executed.
 */
export function closeBlock(item: StreamItem, fields: DeltaFields, isComplete: boolean): RawObject {
  const unfinished = Object.values(fields).filter((field) => field.onlyWhole && !isComplete && !item.isEnded)
  const pieces = [...item.pieces].filter(([path]) => unfinished.every(({ to }) => to !== path))
  let block = closeItem({ ...item, pieces: new Map(pieces) })
  for (const { to, as } of Object.values(fields)) {
    const json = as === 'json' ? joinArguments(item.pieces.get(to)?.texts ?? []) : ''
    if (json === '') continue
    const started = textOfInput(valueAt(item.start, to.split('.')))
    // Two different texts together are not JSON, so the call is not executed.
    const value = started !== '{}' && differs(started, json) ? started + json : readArguments(json)
    block = withValue(block, to.split('.'), value ?? json) as RawObject
  }
  return block
}

/**
 * Merges an item's events: the latest whole version, and the joined pieces of the values that this version
 * lacks. Marks a call whose arguments arrived in two different complete versions. O(length).
 */
export function closeItem({ start, whole, pieces, unplaced }: StreamItem): RawObject {
  let item: RawObject = whole ?? start
  for (const [path, { texts, list, whole: set }] of pieces) {
    const steps = path.split('.', DEPTH)
    const [field = ''] = steps
    const wholeParts = objectsOf(unplaced.has(field) && whole?.[field])
    if (wholeParts.some(({ text, refusal }) => !isLacking(text ?? refusal))) continue
    const known = valueAt(item, steps)
    const isCall = path === 'arguments'
    const joined = isCall ? joinArguments(texts) : texts.join('')
    let value = set
    if (list.length > 0) value = [...(Array.isArray(known) && whole === null ? known : []), ...list]
    else if (isLacking(value)) value = whole === null ? stringOf(known) + joined : joined
    if (isCall) {
      // Some servers begin or end a call with an empty object in place of its arguments.
      const texts = [joined, stringOf(set), stringOf(known)].filter((text) => text !== '' && text !== '{}')
      if (value === '{}') value = texts[0] ?? value
      if (texts.some((text) => differs(text, value))) item = { ...item, [CONTRADICTED]: true }
    }
    if ((whole === null || isLacking(known) || (isCall && known === '{}')) && !isLacking(value))
      item = withValue(item, steps, value) as RawObject
  }
  return item
}

const DEPTH = 4

export const isLacking = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)

export const valueAt = (item: unknown, steps: readonly string[]): unknown =>
  steps.reduce((value: unknown, step) => (value as RawObject | null | undefined)?.[step], item)

export function withValue(target: unknown, [step = '', ...rest]: readonly string[], value: unknown): unknown {
  const inner = rest.length === 0 ? value : withValue((target as RawObject | undefined)?.[step], rest, value)
  if (!/^\d+$/.test(step)) {
    const { [step]: _, ...others } = (target ?? {}) as RawObject
    return inner === undefined ? others : { ...(target as object | undefined), [step]: inner }
  }
  const list: readonly unknown[] = Array.isArray(target) ? target : []
  // A gap would leave an undefined part.
  const index = Math.min(Number(step), list.length)
  const before = list[index]
  const isPart = typeof inner === 'object' && inner !== null && !Array.isArray(inner)
  return list.toSpliced(index, 1, isPart ? { ...(before as object | undefined), ...inner } : inner)
}

function differs(text: string, other: unknown): boolean {
  if (typeof other !== 'string' || text === '' || other === '') return false
  return [text, other].every((each) => readArguments(each) !== null) && !hasSameArguments(text, other)
}
