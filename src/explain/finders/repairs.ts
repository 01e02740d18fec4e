/** Findings about what a grammar has to write otherwise than the log says, so that its provider takes it. */

import { readArguments } from '../../messages/arguments.ts'
import type { NeutralMessage } from '../../messages/message.ts'
import { counted, type Found, found, type Scene } from './scene.ts'
import { requestOn } from './wires.ts'

/** What would be written otherwise of the next request, one finding for each repair and grammar. O(content). */
export function* repairFindings({ state, grammars, messages: sent }: Scene): IterableIterator<Found> {
  const { head } = state.log
  if (head === null) return
  for (const grammar of grammars) {
    const { messages, leftOut } = requestOn(state, state.branch, grammar, sent)
    for (const what of repairsOf(messages))
      yield found('repaired', 'note', head, `in the request for ${grammar}, ${what}`)
    if (leftOut.length > 0) {
      const text = `in the request for ${grammar}, the signed parts of ${counted(leftOut.length, 'reply', 'replies')} are left out (${[...new Set(leftOut.map(({ reason }) => reason))].join(', ')})`
      yield found('repaired', 'note', head, text, { rule: 'D23' })
    }
  }
}

function* repairsOf(messages: readonly NeutralMessage[]): IterableIterator<string> {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? message.tool_calls : []))
  const repeated = calls.length - new Set(calls.map(({ id }) => id)).size
  if (repeated > 0)
    yield repeated === 1
      ? 'a call id stands twice, and gets a number'
      : `${repeated} call ids stand twice, and get numbers`
  const garbled = calls.filter((call) => readArguments(call.arguments) === null).length
  if (garbled > 0)
    yield `the arguments of ${counted(garbled, 'call')} are no JSON object, and are sent as text in one`
  const first = messages.find(({ role }) => role !== 'system')
  if (first?.role === 'assistant')
    yield 'a message of the user is put in front, since it would begin with a reply'
}
