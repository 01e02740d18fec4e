import { ownField } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import {
  CUSTOM,
  CUT_OFF,
  defaultCaller,
  endingBy,
  failureOf,
  moreOf,
  readParts,
  replyDelta,
  replyPart,
  replyReader,
} from '../reply.ts'
import type { Endings, ReadOptions, ReplyCollector, ReplyOutcome, ReplyPart } from '../reply.ts'
import type { RawObject } from '../text.ts'
import { objectOf, objectsOf, stringOf, textOfContents, withoutEmpty } from '../text.ts'
import { closeItem, collectStream, CONTRADICTED, isLacking, newItem, piecesAt } from '../stream.ts'
import type { StreamItem } from '../stream.ts'
import { LIMITS, readReasoning } from './blocks.ts'

/**
 * Returns a collector for the stream events of `openai` (`stream: true`). Its `end` returns the same reply as
 * `fromOpenAIResponses`. Without an event that ends the response, the reply is `broken_off`; with an `error`
 * event, it is `failed`. O(length).
 * @example
 * const stream = collectOpenAIResponses()
 * stream.push({ type: 'response.output_text.delta', delta: 'hi' })[0].content // 'hi'
 * const output = [{ type: 'message', content: [{ type: 'output_text', text: 'hi' }] }]
 * stream.push({ type: 'response.completed', response: { id: 'resp_1', status: 'completed', output } })
 * stream.end().outcome // { type: 'done' }
 */
export function collectOpenAIResponses(options: ReadOptions = {}): ReplyCollector {
  const items = streamedItems()
  let response: RawObject | null = null

  const push = (event: RawObject): readonly StreamingDeltaEvent[] => {
    const type = stringOf(event['type'])
    switch (type) {
      case 'response.created':
      case 'response.in_progress':
        response = { ...objectOf(event['response']), status: 'in_progress' }
        break
      case 'response.output_item.added':
      case 'response.output_item.done':
        items.add(event)
        break
      case 'response.completed':
      case 'response.incomplete':
      case 'response.failed':
      // ChatGPT's own server uses this name.
      case 'response.done':
        response = objectOf(event['response'])
        items.addLast(objectsOf(response['output']))
        break
      default: {
        const name = PIECE_EVENT.exec(type)?.[1] ?? ''
        // The event that ends a part has all of its text.
        const part = name.endsWith('_part') ? objectOf(event['part']) : {}
        const kind = ownField(PIECES, name) ?? PART_KINDS.get(part['type'])
        if (kind !== undefined) return addPiece(items.of(event, kind.item), { ...event, ...part }, kind)
      }
    }
    return []
  }

  return collectStream(fromOpenAIResponses, options, {
    push,
    failureIn: (event) => (event['type'] === 'error' ? failureOf({ error: event['error'] || event }) : null),
    isComplete: () => response !== null && response['status'] !== 'in_progress',
    whole: () => ({ ...response, output: items.all() }),
  })
}

/** A field that arrives in pieces. It belongs to an item, or to an entry in one of the item's lists. */
interface PieceKind {
  readonly item: string
  readonly field: string
  readonly list?: string
  /** Name of the event field that contains the entry's index. */
  readonly index?: string
  readonly part?: string
  readonly publish?: (text: string) => StreamingDeltaEvent[]
}

export const PIECES: Readonly<Record<string, PieceKind>> = {
  output_text: textKind('message', 'content', 'output_text', 'text', replyDelta.text),
  refusal: textKind('message', 'content', 'refusal', 'refusal', replyDelta.text),
  reasoning_summary_text: textKind('reasoning', 'summary', 'summary_text', 'text', replyDelta.reasoning),
  reasoning_text: textKind('reasoning', 'content', 'reasoning_text', 'text', replyDelta.reasoning),
  function_call_arguments: { item: 'function_call', field: 'arguments' },
  custom_tool_call_input: { item: 'custom_tool_call', field: 'input' },
}

function textKind(
  item: string,
  list: string,
  part: string,
  field: string,
  publish: (text: string) => StreamingDeltaEvent[],
): PieceKind {
  return { item, field, list, index: `${list}_index`, part, publish }
}

const PART_KINDS: ReadonlyMap<unknown, PieceKind> = new Map(
  Object.values(PIECES).flatMap((kind) => (kind.part === undefined ? [] : [[kind.part, kind] as const])),
)

const PIECE_EVENT = /^response\.(\w+)\.(?:delta|done)$/

function addPiece(item: StreamItem, event: RawObject, kind: PieceKind): readonly StreamingDeltaEvent[] {
  const { field, list, index = '', part = '', publish } = kind
  const { delta, [index]: partIndex } = event
  let path = field
  if (list !== undefined) {
    if (typeof partIndex !== 'number') item.unplaced.add(list)
    const entry = `${list}.${typeof partIndex === 'number' ? partIndex : partOf(item, list, part)}`
    piecesAt(item, `${entry}.type`).whole = part
    path = `${entry}.${field}`
  }
  if (typeof delta !== 'string') {
    piecesAt(item, path).whole = event[field]
    return []
  }
  piecesAt(item, path).texts.push(delta)
  return publish?.(delta) ?? []
}

/** Returns the index of the part to which a piece without an index belongs. */
function partOf({ pieces }: StreamItem, list: string, part: string): number {
  let index = 0
  for (let type; (type = pieces.get(`${list}.${index}.type`)?.whole) !== undefined; index += 1)
    if (type === part) return index
  return index
}

/**
 * Collects items by id, or by index if the id is unknown. An event with a different type or call id begins a
 * new item.
 */
function streamedItems() {
  const items: StreamItem[] = []
  const byId = new Map<string, StreamItem>()
  const byIndex = new Map<unknown, StreamItem>()
  /** The latest item of each type, to which events without an id or an index belong. */
  const byType = new Map<unknown, StreamItem>()
  const find = (id: string, index: unknown, item: RawObject): StreamItem => {
    const call = stringOf(item['call_id'])
    // A call and its output have the same call id.
    const callKey = `${stringOf(item['type'])} ${call}`
    const named = byId.get(id || callKey)
    const isLatest = id + call === '' && (index ?? null) === null
    const known = named ?? (isLatest ? byType.get(item['type']) : byIndex.get(index))
    const knownCall = known === undefined ? '' : callIdOf(known)
    // After the end of an item, another id means another item: some servers give all items one index.
    const isNext = named === undefined && (id !== '' || isLatest) && known?.isEnded === true
    const isSame =
      known !== undefined &&
      !isNext &&
      typeOf(known) === item['type'] &&
      (call === '' || knownCall === '' || call === knownCall)
    const match = isSame ? known : newItem(item, isIndex(index) ? index : items.length)
    if (!isSame) items.push(match)
    if (id !== '') byId.set(id, match)
    // Some servers send the call id as the item's id in the events of the arguments.
    if (call !== '' && !byId.has(call)) byId.set(call, match)
    if (call !== '' && !byId.has(callKey)) byId.set(callKey, match)
    byIndex.set(index ?? items.length - 1, match)
    byType.set(item['type'], match)
    return match
  }
  let order = -1
  const matched = new Set<StreamItem>()
  const claim = (item: RawObject, fits: (each: StreamItem) => boolean): StreamItem | undefined => {
    const isFree = (each: StreamItem): boolean => !matched.has(each) && typeOf(each) === item['type']
    const named = byId.get(stringOf(item['id']))
    const match =
      named !== undefined && isFree(named) ? named : items.find((each) => isFree(each) && fits(each))
    if (match !== undefined) matched.add(match)
    return match
  }
  const matchOf = (item: RawObject): StreamItem | undefined => {
    const [id, call] = [stringOf(item['id']), stringOf(item['call_id'])]
    return claim(item, (each) => (call === '' ? id === '' || idOf(each) === '' : callIdOf(each) === call))
  }
  /** Finds an item by its text, because some servers give it another id in each event. */
  const sameText = (item: RawObject, index: number): StreamItem | undefined =>
    claim(
      item,
      (each) =>
        each.order === index &&
        callIdOf(each) === stringOf(item['call_id']) &&
        textOfItem(closeItem(each)) === textOfItem(item),
    )
  return {
    add: ({ type, output_index, item }: RawObject): void => {
      const latest = objectOf(item)
      const match = find(stringOf(latest['id']), output_index, latest)
      match.whole = mergeWhole(latest, match)
      match.isEnded ||= type === 'response.output_item.done'
    },
    /** Adds the items of the last event, which may have new items, and may lack items of earlier events. */
    addLast: (last: readonly RawObject[]): void => {
      const known = last.map(matchOf).map((match, index) => match ?? sameText(last[index] ?? {}, index))
      const limits: number[] = []
      for (const each of known.toReversed()) limits.push(each?.order ?? limits.at(-1) ?? Infinity)
      const used = new Set(items.map((each) => each.order))
      for (const [index, item] of last.entries()) {
        let match = known[index]
        if (match === undefined) {
          let free = Math.floor(order) + 1
          while (used.has(free)) free += 1
          // The `order` of the next known item in the list.
          const limit = limits[last.length - 1 - index] as number
          items.push((match = newItem(item, free < limit ? free : (order + limit) / 2)))
          used.add(match.order)
          matched.add(match)
        }
        match.whole = mergeWhole(item, match)
        match.isEnded = true
        order = match.order
      }
    },
    of({ item_id, output_index, call_id }: RawObject, type: string): StreamItem {
      const id = stringOf(item_id)
      return find(id, output_index, withoutEmpty({ type, id, call_id }))
    },
    all: (): RawObject[] =>
      items
        .toSorted((a, b) => a.order - b.order)
        .map((item) => {
          const whole = closeItem(item)
          // The first encrypted content of an item does not contain its reasoning.
          const { encrypted_content: _, ...unfinished } = whole
          return item.isEnded ? whole : unfinished
        })
        .filter(isNamed),
  }
}

/** Whether a value is an index. A huge number is not, because adding 1 to it would have no effect. */
const isIndex = (index: unknown): index is number =>
  Number.isInteger(index) && Math.abs(Number(index)) < 2 ** 31

const typeOf = ({ start, whole }: StreamItem): unknown => (whole ?? start)['type']
const idOf = ({ start, whole }: StreamItem): string => stringOf((whole ?? start)['id'])
const callIdOf = ({ start, whole }: StreamItem): string =>
  stringOf(whole?.['call_id']) || stringOf(start['call_id'])

const textOfItem = (item: RawObject): string => textOfContents([{ content: item['summary'] }, item])

const mergeWhole = (later: RawObject, { whole }: StreamItem): RawObject =>
  whole === null
    ? later
    : {
        ...later,
        ...Object.fromEntries(Object.entries(whole).filter(([key]) => isLacking(later[key]))),
      }

const isNamed = ({ type, name }: RawObject): boolean =>
  (type !== 'function_call' && type !== 'custom_tool_call') || stringOf(name) !== ''

/** A whole reply of the `openai` package. Fields that are not declared here are read, too. */
export interface ResponsesReply {
  readonly output: readonly object[]
}

/**
 * Reads a whole reply of OpenAI Responses as events and an outcome. A reasoning item is stored with the call
 * after it, or with the message if the reply has no calls. In later requests, the item is sent back if it has
 * encrypted content (`include: ['reasoning.encrypted_content']`). An incomplete call and all calls of a
 * refused, filtered, failed or unfinished reply are not executed.
 *
 * A refusal is read as text with `more: { type: 'refusal' }` in `reply.parts`. Other items (searches, MCP,
 * compaction …) and further reasoning items are stored there as `other`. A message's annotations and phase,
 * and its id if the provider needs it, are stored there as `more`. All of this is sent back unchanged, except
 * log probabilities. Typed client calls (`shell_call`, `local_shell_call`, `apply_patch_call`,
 * `computer_call`) are read as calls of `shell`, `local_shell`, `apply_patch` or `computer`. Custom calls
 * cannot be executed. Never throws. O(length).
 * @param reply a `Response`
 * @example
 * const content = [{ type: 'output_text', text: 'hi' }]
 * const { events } = fromOpenAIResponses({ id: 'resp_1', output: [{ type: 'message', content }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 */
export const fromOpenAIResponses = replyReader<ResponsesReply>(
  LIMITS,
  ['output', 'status'],
  (raw, broken) => {
    const { input_transformations, prompt_cache_diagnostics } = raw
    const items = objectsOf(raw['output'])
    const reason = stringOf(objectOf(raw['incomplete_details'])['reason'])
    const ending = broken ?? endingOf(raw, reason, items)
    const outputs = items.filter(({ type }) => stringOf(type).endsWith('_output'))
    const executed: Outputs = new Map(outputs.map((item) => [item['call_id'], item]))
    return {
      id: raw['id'],
      model: raw['model'],
      stopReason: reason || raw['status'],
      usage: raw['usage'],
      metadata: moreOf({ input_transformations, prompt_cache_diagnostics }),
      parts: readParts(items, ending, (item, isCutOff, before) =>
        partsOf(item, isCutOff, NAMED_AFTER.has(before?.['type']), executed),
      ),
      ending,
    }
  },
)

type Outputs = ReadonlyMap<unknown, RawObject>

const NAMED_AFTER: ReadonlySet<unknown> = new Set(['message', 'reasoning'])

/** Outcomes of failed responses, and of background responses that have not finished, by status. */
const ENDINGS: Endings = {
  failed: 'failed',
  queued: 'broken_off',
  in_progress: 'broken_off',
  cancelled: 'broken_off',
}

function endingOf({ status }: RawObject, reason: string, items: readonly RawObject[]): ReplyOutcome | null {
  if (status === 'incomplete') return { type: reason === 'content_filter' ? 'filtered' : 'truncated', reason }
  const isBroken = ownField(ENDINGS, stringOf(status)) === 'broken_off'
  const ending = endingBy(ENDINGS, stringOf(status), isBroken ? textOfContents(items) : null)
  const parts = items.flatMap(({ content }) => objectsOf(content))
  const refused = parts.find(({ type }) => type === 'refusal')
  return ending ?? (refused ? { type: 'refused', explanation: stringOf(refused['refusal']) || null } : null)
}

const CALL_FIELDS = ['type', 'id', 'call_id', 'name', 'arguments', 'status']
const CONTRADICTORY = 'its arguments differ between two events of the reply'
const TYPED_CALL = ['call_id', 'name', 'status', 'input', 'action', 'actions', 'operation']

function partsOf(item: RawObject, isCutOff: boolean, isNamed: boolean, executed: Outputs) {
  switch (item['type']) {
    case 'message':
      return messageParts(item, isNamed)
    case 'reasoning':
      return {
        is: 'reasoning' as const,
        item: readReasoning(item),
        value: item as JsonObject,
        more: moreOf(item, 'type', 'id', 'summary', 'content', 'encrypted_content', 'status'),
      }
    case 'function_call': {
      const contradicted = Object.hasOwn(item, CONTRADICTED) ? CONTRADICTORY : null
      return replyPart.call(item['call_id'], item['name'], item['arguments'], isCutOff, {
        item: stringOf(item['id']) || null,
        result: resultOf(executed.get(item['call_id'])),
        unfit: isCutOff || item['status'] === 'incomplete' ? CUT_OFF : contradicted,
        more: moreOf(item, ...CALL_FIELDS, ...defaultCaller(item)),
      })
    }
    case 'function_call_output':
      return []
    default: {
      const requested = executed.has(item['call_id']) ? null : readCall(item)
      if (requested === null) return replyPart.other(item)
      return replyPart.call(item['call_id'], requested.name, requested.arguments, isCutOff, {
        ...(item['type'] === 'custom_tool_call' && { unfit: CUSTOM }),
        more: moreOf(item, ...TYPED_CALL, ...defaultCaller(item)),
      })
    }
  }
}

const resultOf = (item?: RawObject) => {
  if (item === undefined) return null
  const { output } = item
  return { text: stringOf(output) || textOfContents([{ content: output }]), isError: false }
}

/**
 * Reads a message. The first part also has the message's phase, and the message's id if `isNamed` or if the
 * message is not a single plain text.
 */
function messageParts(item: RawObject, isNamed: boolean): ReplyPart[] {
  const parts = objectsOf(item['content'])
  const inner = parts.map((part) =>
    part['type'] === 'refusal' ? { type: 'refusal' } : moreOf(part, 'type', 'text', 'logprobs'),
  )
  const isPlain = !isNamed && parts.length === 1 && inner[0] === null && item['status'] !== 'incomplete'
  const outer = moreOf(
    item,
    'type',
    'role',
    'content',
    ...(isPlain ? ['id'] : []),
    ...(item['status'] === 'incomplete' ? [] : ['status']),
  )
  return parts.map((part, index) =>
    messagePart(part, index > 0 || outer === null ? (inner[index] ?? null) : { ...outer, ...inner[index] }),
  )
}

function messagePart(part: RawObject, more: JsonObject | null): ReplyPart {
  const { type, text, refusal } = part
  if (type === 'output_text' && typeof text === 'string') return replyPart.text(text, more)
  if (type === 'refusal' && typeof refusal === 'string') return replyPart.text(refusal, more)
  return replyPart.other(part)
}

/**
 * For each type of call, its tool and the field with its arguments. The tool is null for a custom call, which
 * names its tool.
 */
const TYPED_CALLS: ReadonlyMap<unknown, readonly [tool: string | null, field: string]> =
  /* @__PURE__ */ new Map([
    ['custom_tool_call', [null, 'input']],
    ['shell_call', ['shell', 'action']],
    ['local_shell_call', ['local_shell', 'action']],
    ['apply_patch_call', ['apply_patch', 'operation']],
    ['computer_call', ['computer', 'actions']],
  ])

export const isClientCall = ({ type }: RawObject): boolean =>
  type === 'function_call' || TYPED_CALLS.has(type)

function readCall(item: RawObject): { readonly name: string; readonly arguments: unknown } | null {
  const [tool, field] = TYPED_CALLS.get(item['type']) ?? []
  if (field === undefined) return null
  const { name, action, actions } = item
  const input = field !== 'actions' ? item[field] : actions === undefined ? { action } : { actions }
  return { name: tool ?? stringOf(name), arguments: input }
}
