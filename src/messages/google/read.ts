/** Reads replies of Google's Gemini as events, so that they can go back as they came. */

import { quoteEnd } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import {
  asJson,
  CUT_OFF,
  failedWith,
  type Failure,
  failureOf,
  frozenInput,
  moreOf,
  type ReadOptions,
  reasoningDelta,
  type Reply,
  type ReplyCollector,
  replyEvents,
  type ReplyOutcome,
  type ReplyPart,
  textDelta,
  usageOf,
} from '../reply.ts'
import { type Found, objectOf, objectsOf, stringOf, textOfInput } from '../text.ts'
import { laterUsage } from '../reply-usage.ts'
import { collectStream } from '../stream.ts'
import { DATA, LIMITS } from './blocks.ts'

/** The arguments of one call on their way. */
interface ArgumentPieces {
  /** Takes what a chunk says of the call. */
  readonly add: (call: Found) => void
  /** Whether more is to come. */
  readonly isOpen: () => boolean
  /** The arguments so far; a text that is no JSON where a piece had no place. */
  readonly value: () => unknown
}

/** The names and indexes of a path, from the root. */
type Path = readonly (string | number)[]

/** The pieces of one call. Each costs O(its length). */
function argumentPieces(): ArgumentPieces {
  const root = newObject()
  let isOpen = true
  let isSound = true
  return {
    add: (call) => {
      isOpen = call['willContinue'] === true
      for (const piece of objectsOf(call['partialArgs'])) {
        const path = readPath(stringOf(piece['jsonPath']))
        if (path === null || !put(root, path, piece)) isSound = false
      }
    },
    isOpen: () => isOpen,
    value: () =>
      isSound ? (JSON.parse(JSON.stringify(root)) as unknown) : '(in pieces that do not fit together)',
  }
}

/** Without a prototype, so that any name is a name like others. */
const newObject = (): Record<string, unknown> => Object.create(null) as Record<string, unknown>

/** A step of a path; of one in quotes its beginning alone: an engine runs out of stack on a pattern of a long one. */
const STEP = /\.([\p{L}_$][\p{L}\p{N}_$-]*)|\[(\d{1,9})\]|\[(['"])/uy

function readPath(text: string): Path | null {
  if (!text.startsWith('$')) return null
  const path: (string | number)[] = []
  for (let at = 1; at < text.length; at = STEP.lastIndex) {
    STEP.lastIndex = at
    const match = STEP.exec(text)
    if (match === null) return null
    const [, name, index, quote] = match
    if (name !== undefined) path.push(name)
    else if (index !== undefined) path.push(Number(index))
    else {
      const start = STEP.lastIndex
      const end = quoteEnd(text, start - 1)
      const inner = text.slice(start, end)
      const quoted = unescaped(
        quote === '"' ? inner : inner.replaceAll(/\\'|"/g, (found) => (found === '"' ? '\\"' : "'")),
      )
      if (quoted === null || text[end] !== quote || text[end + 1] !== ']') return null
      path.push(quoted)
      STEP.lastIndex = end + 2
    }
  }
  return path
}

function unescaped(text: string): string | null {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return null
  }
}

/** Puts a piece where it belongs; false where it has no place there. */
function put(root: object, path: Path, piece: Found): boolean {
  let place: unknown = root
  for (const [depth, step] of path.entries()) {
    if (!holds(place, step)) return false
    const next = path[depth + 1]
    const slots = place as Record<string | number, unknown>
    if (next !== undefined) place = slots[step] ??= typeof next === 'number' ? [] : newObject()
    else return set(slots, step, piece)
  }
  return false
}

/** Whether a step leads into a value: a name into an object, an index into a list, at its end at most. */
const holds = (place: unknown, step: string | number): boolean =>
  Array.isArray(place)
    ? typeof step === 'number' && step <= place.length
    : typeof step === 'string' &&
      typeof place === 'object' &&
      place !== null &&
      !(place instanceof StreamedText)

function set(slots: Record<string | number, unknown>, step: string | number, piece: Found): boolean {
  const { stringValue, numberValue, boolValue, nullValue } = piece
  if (typeof stringValue === 'string') {
    const before = slots[step]
    if (before instanceof StreamedText) before.add(stringValue)
    else slots[step] = new StreamedText(stringValue)
    return true
  }
  const value = typeof numberValue === 'number' ? numberValue : boolValue
  if (value !== undefined) slots[step] = value
  else if (nullValue !== undefined) slots[step] = null
  return true
}

/** A text that may go on; joined when it is written, so that the cost is linear. */
class StreamedText {
  readonly #pieces: string[]
  constructor(first: string) {
    this.#pieces = [first]
  }
  add(piece: string): void {
    this.#pieces.push(piece)
  }
  toJSON(): string {
    return this.#pieces.join('')
  }
}

/** A part on its way. */
interface StreamedPart {
  readonly part: Found
  /** The texts of which it is made; joined at the end, so that the cost is linear. Null for a part of its own. */
  readonly texts: string[] | null
  /** Null but for a call whose arguments come piece by piece. */
  readonly pieces: ArgumentPieces | null
}

/**
 * Collects the chunks of a stream, as `generateContentStream` of the `@google/genai` package gives them. `push` gives
 * what to publish of each; `end` gives the reply, the same as `fromGoogle` gives of the whole. Texts that follow each
 * other are one, but for those with a signature; arguments of calls may come in pieces. A stream that ends without a
 * finish reason has broken off, one with an `error` has failed: then its events have what arrived, and no call is
 * executed. Throws nothing. O(length).
 * @example
 * const stream = collectGoogle()
 * stream.push({ candidates: [{ content: { parts: [{ text: 'hi' }] } }] })[0].content // 'hi'
 * stream.push({ candidates: [{ finishReason: 'STOP' }] })
 * stream.end().outcome // { type: 'done' }
 */
export function collectGoogle(options: ReadOptions = {}): ReplyCollector {
  let about: Found = {}
  let candidate: Found = {}
  let failure: Failure | null = null
  const parts: StreamedPart[] = []

  const addPart = (part: Found): void => {
    const last = parts.at(-1)
    const { text } = part
    if (typeof text === 'string' && isPlain(part)) {
      const isSame =
        last?.texts !== undefined && last.texts !== null && isSilent(last.part) === isSilent(part)
      if (isSame) last.texts?.push(text)
      else parts.push({ part, texts: [text], pieces: null })
      return
    }
    const call = objectOf(part['functionCall'])
    const goesOn = last?.pieces?.isOpen() === true && stringOf(call['name']) === ''
    if (goesOn && part['functionCall'] !== undefined) {
      last.pieces?.add(call)
      return
    }
    const isPieced = call['willContinue'] === true || call['partialArgs'] !== undefined
    const pieces = isPieced ? argumentPieces() : null
    pieces?.add(call)
    parts.push({ part, texts: null, pieces })
  }

  const take = (chunk: Found): readonly StreamingDeltaEvent[] => {
    failure = failureOf(chunk) ?? failure
    const usageMetadata = laterUsage(about['usageMetadata'], chunk['usageMetadata'])
    about = { ...about, ...said(chunk), usageMetadata }
    const next = objectsOf(chunk['candidates']).find(({ index }) => (index ?? 0) === 0) ?? {}
    candidate = { ...candidate, ...said(next) }
    const came = objectsOf(objectOf(next['content'])['parts'])
    came.forEach(addPart)
    return came.flatMap((part) => {
      const text = stringOf(part['text'])
      return isSilent(part) ? reasoningDelta(text) : textDelta(text)
    })
  }

  return collectStream({
    take,
    failure: () => failure,
    isComplete: () => stringOf(candidate['finishReason']) !== '' || blockReason(about) !== '',
    read: (ending) =>
      readReply(
        { ...about, candidates: [{ ...candidate, content: { parts: parts.map(closed) } }] },
        options,
        ending,
      ),
  })
}

/** The fields that say something: a later chunk takes nothing back. */
const said = (value: Found): Found =>
  Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null && field !== undefined))

const isSilent = (part: Found): boolean => part['thought'] === true

/** Whether a part is a text and nothing more, which the text behind it may go on with. */
const isPlain = (part: Found): boolean =>
  Object.keys(part).every((field) => field === 'text' || (field === 'thought' && part['thought'] === true))

/** The part as it would stand in a whole reply. */
function closed({ part, texts, pieces }: StreamedPart): Found {
  if (texts !== null) return { ...part, text: texts.join('') }
  if (pieces === null) return part
  const { willContinue: _, partialArgs: __, ...call } = objectOf(part['functionCall'])
  return { ...part, functionCall: { ...call, args: pieces.value() } }
}

/** A whole reply, as the `@google/genai` package gives it; what else it holds is read where it is there. */
export interface GoogleReply {
  readonly candidates?: readonly object[]
  readonly promptFeedback?: object
}

/**
 * The events of a reply's first candidate, and what ended it. Thoughts, texts and calls go back in their order, each
 * under the signature that it came with; parts of other kinds (files, code that the provider executed, its own tools)
 * as they are. The last call of a reply that was cut off by a limit is not executed, nor are those of a filtered one.
 * A call without an id gets one, which is not sent. Texts of nothing are left out, but for those that carry a
 * signature. Grounding and citations stand in `reply.metadata`. A prompt that was blocked gives an outcome and a
 * message without words. Throws nothing. O(length).
 * @param reply a `GenerateContentResponse`
 * @example
 * const content = { role: 'model', parts: [{ text: 'hi', thoughtSignature: 'c2ln' }] }
 * const { events, outcome } = fromGoogle({ candidates: [{ content, finishReason: 'STOP' }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromGoogle = (reply: GoogleReply, options: ReadOptions = {}): Reply =>
  readReply(objectOf(reply), options)

/** `broken`: how its stream ended, where that was no end of the reply. */
function readReply(found: Found, options: ReadOptions, broken: ReplyOutcome | null = null): Reply {
  const [candidate = {}] = objectsOf(found['candidates'])
  const parts = objectsOf(objectOf(candidate['content'])['parts']).filter(saysSomething)
  const ending = broken ?? failureOf(found) ?? endingOf(found, candidate)
  return replyEvents(
    {
      id: stringOf(found['responseId']),
      model: stringOf(found['modelVersion']),
      stopReason: stringOf(candidate['finishReason']) || blockReason(found),
      usage: usageOf(found['usageMetadata']),
      reasoning: '',
      metadata: moreOf(candidate, ...KNOWN),
      parts: parts.map((part, at) => partOf(part, ending?.type === 'truncated' && at === parts.length - 1)),
      ending,
    },
    LIMITS,
    options,
  )
}

/** What of a candidate is read already, or counts and rates what it says. */
const KNOWN = [
  'content',
  'finishReason',
  'index',
  'tokenCount',
  'avgLogprobs',
  'logprobsResult',
  'safetyRatings',
] as const

/** Why the prompt itself was blocked; empty where it was not. */
export const blockReason = (reply: Found): string =>
  stringOf(objectOf(reply['promptFeedback'])['blockReason'])

function endingOf(reply: Found, candidate: Found): ReplyOutcome | null {
  const reason = stringOf(candidate['finishReason'])
  switch (reason) {
    case '': {
      const blocked = blockReason(reply)
      if (blocked !== '') return { type: 'filtered', reason: blocked }
      return objectsOf(reply['candidates']).length === 0 ? failedWith(null) : null
    }
    case 'MAX_TOKENS':
    case 'CONTINUATION':
      return { type: 'truncated', reason }
    case 'SAFETY':
    case 'RECITATION':
    case 'LANGUAGE':
    case 'BLOCKLIST':
    case 'PROHIBITED_CONTENT':
    case 'SPII':
    case 'IMAGE_SAFETY':
    case 'IMAGE_PROHIBITED_CONTENT':
    case 'IMAGE_RECITATION':
      return { type: 'filtered', reason }
    case 'MALFORMED_FUNCTION_CALL':
    case 'MALFORMED_RESPONSE':
    case 'UNEXPECTED_TOOL_CALL':
    case 'TOO_MANY_TOOL_CALLS':
    case 'NO_IMAGE':
    case 'IMAGE_OTHER':
    case 'OTHER': {
      const { finishMessage } = candidate
      return { type: 'failed', explanation: stringOf(finishMessage) || reason }
    }
    default:
      return null
  }
}

/** Streams end in such parts, and say nothing in them. */
const saysSomething = (part: Found): boolean =>
  part['text'] !== '' || Object.keys(part).some((field) => field !== 'text' && field !== 'thought')

/** A part in its place. One that holds none of the known kinds, or several of them, is kept whole. */
function partOf(part: Found, isCutOff: boolean): ReplyPart {
  const held = DATA.filter((field) => part[field] !== undefined && part[field] !== null)
  const [kind] = held
  if (held.length === 1 && kind === 'text' && typeof part['text'] === 'string')
    return textPart(part, part['text'])
  if (held.length === 1 && kind === 'functionCall')
    return callPart(part, objectOf(part['functionCall']), isCutOff)
  // The field that names its kind stands first.
  return { is: 'other', value: asJson(kind === undefined ? part : { [kind]: part[kind], ...part }) }
}

function textPart(part: Found, text: string): ReplyPart {
  const { thought, thoughtSignature } = part
  if (thought !== true) return { is: 'text', text, more: moreOf(part, 'text') }
  const isSigned = typeof thoughtSignature === 'string'
  return {
    is: 'thinking',
    block: { type: 'thinking', thinking: text, ...(isSigned ? { signature: thoughtSignature } : {}) },
    more: moreOf(part, 'text', 'thought', 'thoughtSignature'),
  }
}

function callPart(part: Found, call: Found, isCutOff: boolean): ReplyPart {
  const { id, name, args } = call
  // What it came without is not sent either.
  const lacks: JsonObject = {
    ...(typeof id === 'string' && id !== '' ? {} : { id: null }),
    ...(args === undefined ? { args: null } : {}),
  }
  const more: JsonObject = {
    ...moreOf(part, 'functionCall'),
    ...(Object.keys(lacks).length === 0 ? {} : { functionCall: lacks }),
  }
  return {
    is: 'call',
    id: stringOf(id),
    name: stringOf(name),
    arguments: textOfInput(args),
    input: frozenInput(args),
    item: null,
    unfit: isCutOff ? CUT_OFF : null,
    more: Object.keys(more).length === 0 ? null : more,
  }
}
