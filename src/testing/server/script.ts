/**
 * What a scripted model says, written into the user's own message: so any model that sees the conversation can play it,
 * whichever process asks, and goes on where it was after a crash.
 */

import type { Model, ModelPart, ModelTurn, RequestBody } from '../../messages/model.ts'

/** What a scripted model does on one request, after `wait` milliseconds. */
export type ScriptedTurn = ModelTurn & { readonly wait?: number }

export type ModelCall = Extract<ModelPart, { readonly call: string }>

/** A message in a request to the model. */
export interface SentMessage {
  readonly role?: string
  readonly content?: unknown
}

const BEGIN = 'SCRIPT '
const END = ' END'

/**
 * The words of a user that make a scripted model do these things.
 *
 * @example
 * const words = scriptOf([{ says: ['Hello'] }])
 * turnOf([{ role: 'user', content: words }]) // { says: ['Hello'] }
 */
export const scriptOf = (turns: readonly ScriptedTurn[]): string => `${BEGIN}${JSON.stringify(turns)}${END}`

/**
 * What a scripted model does with a request: that turn of the latest script which its replies since then have come to.
 * Without a script, or behind its end, it says so. O(messages).
 */
export function turnOf(messages: readonly SentMessage[]): ScriptedTurn {
  const at = messages.findLastIndex(({ role, content }) => role === 'user' && textOf(content).includes(BEGIN))
  if (at < 0) return { says: ['There is no script.'] }
  const said = textOf(messages[at]?.content)
  const begin = said.lastIndexOf(BEGIN) + BEGIN.length
  const turns = JSON.parse(said.slice(begin, said.indexOf(END, begin))) as readonly ScriptedTurn[]
  const isReply = messages.slice(at).map((message) => isOfModel(message))
  const replies = isReply.filter((own, n) => own && isReply[n - 1] !== true).length
  return turns[replies] ?? { says: ['The script is over.'] }
}

/** A model for `fakeProvider` that plays the scripts in the messages of its users, in any grammar. */
export const playScripts: Model = async (request) => {
  const turn = turnOf(messagesIn(request))
  if (turn.wait !== undefined) await new Promise((resolve) => setTimeout(resolve, turn.wait))
  return turn
}

export function messagesIn({ messages, input, contents }: RequestBody): readonly SentMessage[] {
  const given = messages ?? input ?? contents
  return (Array.isArray(given) ? given : []).map((message: SentMessage & { readonly parts?: unknown }) =>
    message.parts === undefined ? message : { ...message, content: message.parts },
  )
}

/** Some grammars have items for calls and thoughts besides messages. */
const isOfModel = ({ role, type }: SentMessage & { readonly type?: string }): boolean =>
  role === undefined ? type !== 'function_call_output' : role === 'assistant' || role === 'model'

export function textOf(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content
    .map((part: { readonly text?: unknown }) => (typeof part.text === 'string' ? part.text : ''))
    .join('')
}
