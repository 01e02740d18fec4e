/** Gives the calls of functions an id, as calls of tools have it: older messages find the result by a name alone. */

import { type Found, objectOf, stringOf } from '../../messages/found.ts'
import type { Element } from './elements.ts'

/** Messages with each call of a function as that of a tool, and each result with its id. O(messages). */
export function withCallIds(elements: readonly Element[]): Element[] {
  const last = new Map<string, string>()
  return elements.map((element) => {
    const { found, no } = element
    if (found['role'] === 'assistant') {
      const message = called(found, `call-${no}`, last)
      return message === found ? element : { ...element, found: message }
    }
    if (Array.isArray(found['choices'])) {
      const choices = (found['choices'] as unknown[]).map((choice) => {
        const { message, ...rest } = objectOf(choice)
        return { ...rest, message: called(objectOf(message), `call-${no}`, last) }
      })
      return { ...element, found: { ...found, choices } }
    }
    if (found['role'] !== 'function' && found['role'] !== 'tool') return element
    if (stringOf(found['tool_call_id']) !== '') return element
    const name = stringOf(found['name'])
    return { ...element, found: { ...found, tool_call_id: last.get(name) ?? name } }
  })
}

/** A message whose only call is that of a function. */
function called(message: Found, id: string, last: Map<string, string>): Found {
  const call = message['function_call']
  const name = stringOf(objectOf(call)['name'])
  if (name === '' || (Array.isArray(message['tool_calls']) && message['tool_calls'].length > 0))
    return message
  last.set(name, id)
  const { function_call: _, ...rest } = message
  return { ...rest, tool_calls: [{ id, type: 'function', function: call }] }
}
