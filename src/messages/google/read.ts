import { isObject, parseJson, quoteEnd } from '../../event/json.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import {
  endingBy,
  endingsAs,
  failedWith,
  hasSameArguments,
  moreOf,
  readParts,
  replyDelta,
  replyPart,
  replyReader,
} from '../reply.ts'
import type { Endings, ReadOptions, ReplyCollector, ReplyOutcome, ReplyPart } from '../reply.ts'
import { type RawObject, objectOf, objectsOf, runsOf, stringOf, textOfInput, withoutEmpty } from '../text.ts'
import { laterUsage } from '../reply-usage.ts'
import { collectStream, joinPieces } from '../stream.ts'
import { DATA, LIMITS } from './blocks.ts'

type Path = readonly (string | number)[]

/** Joins the pieces of a call's arguments. O(piece). Objects get no prototype, so any field name is safe. */
class ArgumentPieces {
  readonly #root = newObject()
  #isSound = true
  #args: unknown = {}
  isOpen = true

  add(call: RawObject): this {
    this.isOpen = call['willContinue'] === true
    this.#args = uniteArguments(this.#args, call['args'])
    for (const piece of objectsOf(call['partialArgs'])) {
      const path = readPath(stringOf(piece['jsonPath']))
      if (path === null || !setPiece(this.#root, path, piece)) this.#isSound = false
    }
    return this
  }

  /** Returns the arguments. If pieces are missing or contradict each other, returns text that is not JSON. */
  value(): unknown {
    const text = JSON.stringify(this.#root)
    // Without its last character, the text is not JSON, so the call is not executed.
    if (this.isOpen) return text.slice(0, -1)
    return this.#isSound ? uniteArguments(JSON.parse(text), this.#args) : CONTRADICTORY
  }
}

/** Text in place of contradictory arguments. It is not JSON, so the call is not executed. */
const CONTRADICTORY = '(in pieces that do not fit together)'

/** Merges two parts of a call's arguments. Returns {@link CONTRADICTORY} if they contradict each other. */
function uniteArguments(first: unknown, args: unknown): unknown {
  if (args === undefined || args === null) return first
  if (!isObject(first) || !isObject(args)) return CONTRADICTORY
  const united = { ...first, ...args }
  return hasSameArguments(textOfInput(united), textOfInput({ ...args, ...first })) ? united : CONTRADICTORY
}

const newObject = (): Record<string, unknown> => Object.create(null) as Record<string, unknown>

/**
 * Matches a segment of a JSON path. It matches only the start of a quoted segment, because a long match could
 * overflow the stack.
 */
const PATH_STEP = /\.([\p{L}_$][\p{L}\p{N}_$-]*)|\[(\d{1,9})\]|\[(['"])/uy

/** Maximum length of a JSON path. Longer paths could nest arguments too deeply to be written. */
const MAX_PATH_LENGTH = 4096

function readPath(text: string): Path | null {
  if (!text.startsWith('$') || text.length > MAX_PATH_LENGTH) return null
  const path: (string | number)[] = []
  for (let offset = 1; offset < text.length; offset = PATH_STEP.lastIndex) {
    PATH_STEP.lastIndex = offset
    const match = PATH_STEP.exec(text)
    if (match === null) return null
    const [, name, index, quote] = match
    if (name !== undefined) path.push(name)
    else if (index !== undefined) path.push(Number(index))
    else {
      const start = PATH_STEP.lastIndex
      const end = quoteEnd(text, start - 1)
      const inner = text.slice(start, end)
      const escaped =
        quote === '"' ? inner : inner.replaceAll(/\\'|"/g, (match) => (match === '"' ? '\\"' : "'"))
      const quoted = parseJson(`"${escaped}"`)
      if (typeof quoted !== 'string' || text[end] !== quote || text[end + 1] !== ']') return null
      path.push(quoted)
      PATH_STEP.lastIndex = end + 2
    }
  }
  return path
}

function setPiece(root: object, path: Path, piece: RawObject): boolean {
  let target: unknown = root
  for (const [depth, step] of path.entries()) {
    if (!canHold(target, step)) return false
    const next = path[depth + 1]
    const slots = target as Record<string | number, unknown>
    const before = slots[step]
    const value =
      next === undefined
        ? valueAfter(before, piece)
        : (before ?? (typeof next === 'number' ? [] : newObject()))
    if (value === undefined) continue
    const isInfinite = typeof value === 'number' && !Number.isFinite(value)
    if (isInfinite || (before !== undefined && before !== value)) return false
    target = slots[step] = value
  }
  return path.length > 0
}

const canHold = (target: unknown, step: string | number): boolean =>
  Array.isArray(target)
    ? typeof step === 'number' && step <= target.length
    : typeof step === 'string' && isObject(target) && !(target instanceof StreamedText)

function valueAfter(before: unknown, { stringValue, numberValue, boolValue, nullValue }: RawObject): unknown {
  if (typeof stringValue === 'string') {
    const text = before instanceof StreamedText ? before : new StreamedText()
    text.pieces.push(stringValue)
    return text
  }
  const value = typeof numberValue === 'number' ? numberValue : boolValue
  return value === undefined && nullValue !== undefined ? null : value
}

/**
 * A text that may continue. Its pieces are joined only when it is written as JSON, so that the cost is
 * linear.
 */
class StreamedText {
  readonly pieces: string[] = []
  toJSON(): string {
    return this.pieces.join('')
  }
}

interface StreamedPart {
  part: RawObject
  pieces: ArgumentPieces | null
}

/**
 * Returns a collector for the stream chunks of `generateContentStream` of `@google/genai`. Its `end` returns
 * the same reply as `fromGoogle`. Adjacent unsigned texts are joined, and so are the pieces of a call's
 * arguments. Without a finish or block reason the reply is `broken_off`; with an `error`, it is `failed`.
 * O(length).
 * @example
 * const stream = collectGoogle()
 * stream.push({ candidates: [{ content: { parts: [{ text: 'hi' }] } }] })[0].content // 'hi'
 * stream.push({ candidates: [{ finishReason: 'STOP' }] })
 * stream.end().outcome // { type: 'done' }
 */
export function collectGoogle(options: ReadOptions = {}): ReplyCollector {
  let about: RawObject = {}
  let candidate: RawObject = {}
  const parts: StreamedPart[] = []
  let openCalls: StreamedPart[] = []

  const addPart = (part: RawObject): void => {
    const call = objectOf(part['functionCall'])
    const continued = openCalls.findLast((open) => continues(call, objectOf(open.part['functionCall'])))
    if (continued !== undefined && part['functionCall'] !== undefined) {
      continued.pieces?.add(call)
      openCalls = openCalls.filter(({ pieces }) => pieces?.isOpen)
      return
    }
    const last = parts.at(-1)
    const known = objectOf(last?.part['functionCall'])
    // Some proxies send a call's arguments in a second part, which does not name the tool.
    const isMore = known['name'] && !call['name'] && (call['args'] ?? call['partialArgs'])
    if (last !== undefined && isMore && continues(call, known)) {
      last.pieces = (last.pieces ?? new ArgumentPieces().add(known)).add(call)
      last.part = { ...part, ...last.part }
    } else {
      const isPieced = call['willContinue'] === true || call['partialArgs'] !== undefined
      parts.push({ part, pieces: isPieced ? new ArgumentPieces().add(call) : null })
    }
    const changed = parts.at(-1)
    if (changed?.pieces?.isOpen === true) openCalls.push(changed)
  }

  const push = (chunk: RawObject): readonly StreamingDeltaEvent[] => {
    const usageMetadata = laterUsage(about['usageMetadata'], chunk['usageMetadata'])
    about = { ...about, ...withoutEmpty(chunk), usageMetadata }
    const next = objectsOf(chunk['candidates']).find(({ index }) => (index ?? 0) === 0) ?? {}
    candidate = { ...candidate, ...withoutEmpty(next) }
    const newParts = objectsOf(objectOf(next['content'])['parts'])
    newParts.forEach(addPart)
    return newParts.flatMap((part) => {
      const text = stringOf(part['text'])
      return isSilent(part) ? replyDelta.reasoning(text) : replyDelta.text(text)
    })
  }

  return collectStream(fromGoogle, options, {
    push,
    isComplete: () => stringOf(candidate['finishReason']) !== '' || blockReason(about) !== '',
    whole: () => ({ ...about, candidates: [{ ...candidate, content: { parts: wholeParts(parts) } }] }),
  })
}

const continues = (piece: RawObject, call: RawObject): boolean =>
  ['id', 'name'].every((field) => {
    const [received, known] = [stringOf(piece[field]), stringOf(call[field])]
    return received === '' || received === known || (known === '' && field === 'id')
  })

const isSilent = (part: RawObject): boolean => part['thought'] === true

const isPlainText = (part: RawObject): boolean =>
  typeof part['text'] === 'string' &&
  Object.keys(part).every((field) => field === 'text' || (field === 'thought' && part['thought'] === true))

const wholeParts = (parts: readonly StreamedPart[]): RawObject[] =>
  runsOf(parts.map(wholePart), (one, next) =>
    [one, next].every((part) => isPlainText(part) && isSilent(part) === isSilent(one)),
  ).map((run) => joinPieces(run, ['text']))

function wholePart({ part, pieces }: StreamedPart): RawObject {
  if (pieces === null) return part
  const { willContinue: _, partialArgs: __, ...call } = objectOf(part['functionCall'])
  return { ...part, functionCall: { ...call, args: pieces.value() } }
}

/** A whole reply of the `@google/genai` package. Fields that are not declared here are read, too. */
export interface GoogleReply {
  readonly candidates?: readonly object[]
  readonly promptFeedback?: object
}

/**
 * Reads the first candidate of a Gemini reply as events and an outcome. In later requests, thoughts, texts
 * and calls are sent back in order with their signatures; other parts (files, executed code, provider tools)
 * are sent back unchanged. A call at the end of a truncated reply and all calls of a filtered or failed reply
 * are not executed.
 *
 * A missing call id is generated, but not sent. Empty unsigned texts are left out. Grounding and citations
 * are kept in `reply.metadata`. For a blocked prompt, the message is empty. Never throws. O(length).
 * @param reply a `GenerateContentResponse`
 * @example
 * const content = { role: 'model', parts: [{ text: 'hi', thoughtSignature: 'c2ln' }] }
 * const { events, outcome } = fromGoogle({ candidates: [{ content, finishReason: 'STOP' }] })
 * events[0].llm_message.content // [{ type: 'text', text: 'hi' }]
 * outcome // { type: 'done' }
 */
export const fromGoogle = replyReader<GoogleReply>(
  LIMITS,
  ['candidates', 'promptFeedback'],
  (raw, broken) => {
    const [candidate = {}] = objectsOf(raw['candidates'])
    const parts = objectsOf(objectOf(candidate['content'])['parts']).filter(isVisible)
    const ending = broken ?? endingOf(raw, candidate)
    return {
      id: raw['responseId'],
      model: raw['modelVersion'],
      stopReason: stringOf(candidate['finishReason']) || blockReason(raw),
      usage: raw['usageMetadata'],
      metadata: moreOf(candidate, ...KNOWN),
      parts: readParts(parts, ending, partOf),
      ending,
    }
  },
)

const KNOWN = [
  'content',
  'finishReason',
  'index',
  'tokenCount',
  'avgLogprobs',
  'logprobsResult',
  'safetyRatings',
]

const blockReason = (reply: RawObject): string => stringOf(objectOf(reply['promptFeedback'])['blockReason'])

export const ENDINGS: Endings = {
  ...endingsAs('truncated', 'MAX_TOKENS CONTINUATION'),
  ...endingsAs('filtered', 'SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII'),
  ...endingsAs('filtered', 'IMAGE_SAFETY IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION'),
  ...endingsAs('filtered', 'MODEL_ARMOR ESCALATION PUP_LIMITED_DISABLED'),
  ...endingsAs('failed', 'OTHER MALFORMED_FUNCTION_CALL MALFORMED_RESPONSE UNEXPECTED_TOOL_CALL'),
  ...endingsAs('failed', 'TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE NO_IMAGE IMAGE_OTHER'),
}

function endingOf(reply: RawObject, candidate: RawObject): ReplyOutcome | null {
  const reason = stringOf(candidate['finishReason'])
  if (reason !== '') return endingBy(ENDINGS, reason, stringOf(candidate['finishMessage']) || reason)
  const blocked = blockReason(reply)
  if (blocked !== '') return { type: 'filtered', reason: blocked }
  return objectsOf(reply['candidates']).length === 0 ? failedWith(null) : null
}

/** Whether a part is read. False for the empty part at the end of a stream. */
const isVisible = (part: RawObject): boolean =>
  part['text'] !== '' || Object.keys(part).some((field) => field !== 'text' && field !== 'thought')

function partOf(part: RawObject, isCutOff: boolean): ReplyPart {
  const present = DATA.filter((field) => part[field] !== undefined && part[field] !== null)
  const [kind] = present
  if (present.length === 1 && kind === 'text' && typeof part['text'] === 'string')
    return readText(part, part['text'])
  if (present.length === 1 && kind === 'functionCall')
    return readCall(part, objectOf(part['functionCall']), isCutOff)
  // The first field must name the part's kind.
  return replyPart.other(kind === undefined ? part : { [kind]: part[kind], ...part })
}

const readText = (part: RawObject, text: string): ReplyPart =>
  part['thought'] === true
    ? replyPart.thinking(text, part['thoughtSignature'], moreOf(part, 'text', 'thought', 'thoughtSignature'))
    : replyPart.text(text, moreOf(part, 'text'))

function readCall(part: RawObject, call: RawObject, isCutOff: boolean): ReplyPart {
  const { id, name, args } = call
  // Fields that were missing in the call are not sent back.
  const lacks = { ...(stringOf(id) === '' && { id: null }), ...(args === undefined && { args: null }) }
  const { functionCall: _, ...rest } = part
  const more = moreOf({ ...rest, functionCall: Object.keys(lacks).length === 0 ? null : lacks })
  return replyPart.call(id, name, args, isCutOff, { more })
}
