/** Collects a streamed reply of OpenAI Chat Completions, so that it is read as if it had come whole. */

import { isObject } from '../../event/json.ts'
import type { StreamingDeltaEvent } from '../../event/types.ts'
import { reasoningDelta, type ReplyCollector, textDelta } from '../collector.ts'
import { type Failure, failureOf, type Found, objectOf, objectsOf, stringOf } from '../found.ts'
import type { ReadOptions } from '../reply-events.ts'
import { fromOpenAIChat, thoughtIn, wordsIn } from './read.ts'

/** A call on its way; servers that repeat its id in each chunk, or its name alone, mean the same one. */
interface StreamedCall {
  readonly rest: Record<string, unknown>
  readonly called: 'function' | 'custom'
  id: string
  name: string
  /** Joined at the end, so that the cost is linear. */
  readonly given: string[]
}

/** What has come of each field of an object, piece by piece; joined at the end, so that the cost is linear. */
type Pieces = Map<string, unknown[]>

/**
 * Collects the chunks of a stream, as the `openai` package gives them with `stream: true`. `push` gives what to
 * publish of each; `end` gives the reply, the same as `fromOpenAIChat` gives of the whole, its usage too where
 * `stream_options.include_usage` asked for it. A stream that ends without a finish reason has broken off, one with an
 * `error` has failed: then there are no events to append. Throws nothing. O(length).
 * @example
 * const stream = collectOpenAIChat()
 * stream.push({ id: 'c1', choices: [{ index: 0, delta: { content: 'hi' } }] })[0].content // 'hi'
 * stream.push({ id: 'c1', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })
 * stream.end().outcome // { type: 'done' }
 */
export function collectOpenAIChat(options: ReadOptions = {}): ReplyCollector {
  let about: Found = {}
  let usage: unknown = null
  let failure: Failure | null = null
  let reason = ''
  const fields: Pieces = new Map()
  const calls: StreamedCall[] = []
  const byIndex = new Map<number, StreamedCall>()

  const addCall = (piece: Found): void => {
    const { index } = piece
    const id = stringOf(piece['id'])
    const called = objectOf(piece['function'] ?? piece['custom'])
    const name = stringOf(called['name'])
    const latest = calls.at(-1)
    // Some servers give no index, and some the same one to all calls: then another id is another call.
    const known =
      typeof index === 'number' ? byIndex.get(index) : id === '' || id === latest?.id ? latest : undefined
    const isOther = known !== undefined && id !== '' && known.id !== '' && id !== known.id && name !== ''
    let call = isOther ? undefined : known
    if (call === undefined) {
      const { function: _, custom, ...rest } = piece
      call = { rest, called: custom === undefined ? 'function' : 'custom', id: '', name: '', given: [] }
      calls.push(call)
      if (typeof index === 'number') byIndex.set(index, call)
    }
    call.id ||= id
    call.name ||= name
    call.given.push(givenIn(called['arguments']) + givenIn(called['input']))
  }

  const push = (given: object): readonly StreamingDeltaEvent[] => {
    const chunk = objectOf(given)
    failure = failureOf(chunk) ?? failure
    about = {
      id: about['id'] ?? chunk['id'],
      created: about['created'] ?? chunk['created'],
      model: about['model'] ?? chunk['model'],
    }
    const choice = objectsOf(chunk['choices']).find(({ index }) => (index ?? 0) === 0) ?? {}
    // Some servers say it of the choice.
    usage = chunk['usage'] ?? choice['usage'] ?? usage
    reason = stringOf(choice['finish_reason']) || reason
    const delta = objectOf(choice['delta'])
    const { tool_calls, ...rest } = delta
    objectsOf(tool_calls).forEach(addCall)
    gather(fields, rest)
    const { reasoning_content, reasoning, content, refusal } = rest
    return [
      ...reasoningDelta(stringOf(reasoning_content) || stringOf(reasoning) || thoughtIn(content)),
      ...textDelta(wordsIn(content) + stringOf(refusal)),
    ]
  }

  return {
    push,
    end: () => {
      if (failure !== null) return { events: [], outcome: failure }
      if (reason === '')
        return {
          events: [],
          outcome: {
            type: 'broken_off',
            text: wordsIn(fields.get('content')) + wordsIn(fields.get('refusal')),
          },
        }
      const message = {
        ...Object.fromEntries([...fields].map(([field, values]) => [field, wholeField(field, values)])),
        tool_calls: calls.map(wholeCall),
      }
      return fromOpenAIChat(
        { ...about, usage, choices: [{ message, finish_reason: reason }] } as never,
        options,
      )
    },
  }
}

/** Adds what a piece says of an object; a null says nothing. */
function gather(fields: Pieces, piece: Found): void {
  for (const [field, value] of Object.entries(piece)) {
    if (value === null || value === undefined) continue
    const known = fields.get(field)
    if (known === undefined) fields.set(field, [value])
    else known.push(value)
  }
}

/** A field of a message as it would stand in a whole one. */
function wholeField(field: string, values: readonly unknown[]): unknown {
  if (field === 'audio') return wholeObject(objectsOf(values))
  return field === 'reasoning_details' ? wholeItems(values.flat()) : joined(values)
}

/** Texts are joined and lists grow; a list that texts stand among holds these too. Of all else the last counts. */
function joined(values: readonly unknown[]): unknown {
  if (values.some(Array.isArray)) return values.flat()
  const last = values.at(-1)
  return typeof last === 'string' ? values.map(stringOf).join('') : last
}

/** Items of one type and one index are pieces of the same: a signature is refused without the whole of its text. */
const wholeItems = (items: readonly unknown[]): unknown[] =>
  [...Map.groupBy(items, keyOf).values()].map((same) =>
    same.length === 1 ? same[0] : wholeObject(objectsOf(same)),
  )

function keyOf(item: unknown): unknown {
  const { type, index } = objectOf(item)
  return Number.isInteger(index) ? `${stringOf(type)} ${String(index)}` : item
}

/** The fields of an object that come in pieces: of what is heard, and of what is reasoned. */
const CUT: ReadonlySet<string> = new Set(['transcript', 'text', 'summary', 'data'])

/** An object of its pieces: of a field that is not cut into pieces the last value counts. */
function wholeObject(pieces: readonly Found[]): Found {
  const fields: Pieces = new Map()
  for (const piece of pieces) gather(fields, piece)
  const whole = [...fields].map(([field, values]) => [field, CUT.has(field) ? joined(values) : values.at(-1)])
  return { ...pieces[0], ...Object.fromEntries(whole) }
}

/** A piece of arguments; some servers give them whole, as what they are. */
const givenIn = (value: unknown): string => (isObject(value) ? JSON.stringify(value) : stringOf(value))

function wholeCall({ rest, called, id, name, given }: StreamedCall): Found {
  const text = given.join('')
  return { ...rest, id, [called]: called === 'custom' ? { name, input: text } : { name, arguments: text } }
}
