/** Reads replies of Google's Gemini as events, so that they can go back as they came. */

import type { JsonObject } from '../../event/shapes.ts'
import {
  asJson,
  failedWith,
  failureOf,
  type Found,
  frozenInput,
  moreOf,
  objectOf,
  objectsOf,
  stringOf,
  textOfInput,
  usageOf,
} from '../found.ts'
import {
  CUT_OFF,
  type ReadOptions,
  type Reply,
  replyEvents,
  type ReplyOutcome,
  type ReplyPart,
} from '../reply-events.ts'
import { DATA } from './kinds.ts'
import { LIMITS } from './limits.ts'

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
export function fromGoogle(reply: GoogleReply, options: ReadOptions = {}): Reply {
  const found = objectOf(reply)
  const [candidate = {}] = objectsOf(found['candidates'])
  const parts = objectsOf(objectOf(candidate['content'])['parts']).filter(saysSomething)
  const ending = failureOf(found) ?? endingOf(found, candidate)
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
