/** Collects a streamed reply of Google's Gemini, so that it is read as if it had come whole. */

import type { StreamingDeltaEvent } from '../../event/types.ts'
import { type ReplyCollector, reasoningDelta, textDelta } from '../collector.ts'
import { type Failure, failureOf, type Found, objectOf, objectsOf, stringOf } from '../found.ts'
import type { ReadOptions } from '../reply-events.ts'
import { type ArgumentPieces, argumentPieces } from './argument-pieces.ts'
import { blockReason, fromGoogle } from './read.ts'

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
 * finish reason has broken off, one with an `error` has failed: then there are no events to append. Throws nothing.
 * O(length).
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

  const push = (given: object): readonly StreamingDeltaEvent[] => {
    const chunk = objectOf(given)
    failure = failureOf(chunk) ?? failure
    about = { ...about, ...said(chunk) }
    const next = objectsOf(chunk['candidates']).find(({ index }) => (index ?? 0) === 0) ?? {}
    candidate = { ...candidate, ...said(next) }
    const came = objectsOf(objectOf(next['content'])['parts'])
    came.forEach(addPart)
    return came.flatMap((part) => {
      const text = stringOf(part['text'])
      return isSilent(part) ? reasoningDelta(text) : textDelta(text)
    })
  }

  return {
    push,
    end: () => {
      if (failure !== null) return { events: [], outcome: failure }
      const whole = parts.map(closed)
      if (stringOf(candidate['finishReason']) === '' && blockReason(about) === '') {
        const texts = whole.filter((part) => !isSilent(part)).map(({ text }) => stringOf(text))
        return { events: [], outcome: { type: 'broken_off', text: texts.join('') } }
      }
      return fromGoogle({ ...about, candidates: [{ ...candidate, content: { parts: whole } }] }, options)
    },
  }
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
