/** Scripts of replies. A script is part of a user message, so a scripted model in any process can play it. */

import type { Model, ModelPart, ModelTurn, RequestBody } from '../../messages/model.ts'

/** A scripted model's reply to one request, or the failure of the request, after `wait` milliseconds. */
export type ScriptedTurn = ModelTurn & { readonly wait?: number }

/** A tool call of a scripted model. */
export type ModelCall = Extract<ModelPart, { readonly call: string }>

/** A message in a request to the model. */
export interface SentMessage {
  readonly role?: string
  readonly content?: unknown
}

const BEGIN = 'SCRIPT '
const END = ' END'

/**
 * Returns the text of a user message that makes a scripted model play these turns.
 * @example
 * const text = scriptOf([{ says: ['Hello'] }])
 * const request = { messages: [{ role: 'user', content: text }] }
 * turnOf(messagesIn(request)) // { says: ['Hello'] }
 * await playScripts(request, 1) // { says: ['Hello'] }
 * textOf([{ text: 'a' }, { text: 'b' }]) // 'ab'
 */
export const scriptOf = (turns: readonly ScriptedTurn[]): string => `${BEGIN}${JSON.stringify(turns)}${END}`

/**
 * Returns the next turn of the latest script. The turn's index is the number of replies after the script. If
 * there is no script, or no turn is left, returns a reply that states this. O(messages).
 */
export function turnOf(messages: readonly SentMessage[]): ScriptedTurn {
  const index = messages.findLastIndex(
    ({ role, content }) => role === 'user' && textOf(content).includes(BEGIN),
  )
  if (index < 0) return { says: ['No script.'] }
  const text = textOf(messages[index]?.content)
  const begin = text.lastIndexOf(BEGIN) + BEGIN.length
  const turns = JSON.parse(text.slice(begin, text.indexOf(END, begin))) as readonly ScriptedTurn[]
  const isReply = messages.slice(index).map((message) => isOfModel(message))
  const replies = isReply.filter((ownValue, n) => ownValue && isReply[n - 1] !== true).length
  return turns[replies] ?? { says: ['The script is over.'] }
}

/** Plays the scripts in user messages, in any grammar. Pass it to `fakeProvider`. */
export const playScripts: Model = async (request) => {
  const turn = turnOf(messagesIn(request))
  if (turn.wait !== undefined) await new Promise((resolve) => setTimeout(resolve, turn.wait))
  return turn
}

/** Returns the messages of a request in any grammar. */
export function messagesIn({ messages, input, contents }: RequestBody): readonly SentMessage[] {
  const value = messages ?? input ?? contents
  return (Array.isArray(value) ? value : []).map((message: SentMessage & { readonly parts?: unknown }) =>
    message.parts === undefined ? message : { ...message, content: message.parts },
  )
}

/**
 * Whether the model wrote a message. Some grammars have items without a role; all of these except tool
 * outputs are written by the model.
 */
const isOfModel = ({ role, type }: SentMessage & { readonly type?: string }): boolean =>
  role === undefined ? type !== 'function_call_output' : role === 'assistant' || role === 'model'

/** Returns the text of a message's content, joined. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part: { readonly text?: unknown }) => (typeof part.text === 'string' ? part.text : ''))
    .join('')
}
