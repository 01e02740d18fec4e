/** Reads what the calls of Gemini CLI gave: a call and its result stand in one record. */

import type { Content } from '../../event/shapes.ts'
import { type Found, objectOf, stringOf } from '../../messages/found.ts'
import { contentOf } from '../content.ts'

/** Whether a call is done. Any other status says that it waits, or runs. */
export const isDone = ({ status, result }: Found): boolean =>
  typeof status === 'string' ? DONE.has(status) : result !== null && result !== undefined

const DONE: ReadonlySet<string> = new Set(['success', 'error', 'cancelled'])

/** The parts of a content, which may be one part, or a text. What is none says its JSON. */
export function listOf(value: unknown): readonly (string | Found)[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  return all
    .filter((part) => part !== null && part !== undefined && part !== '')
    .map((part) => {
      const found = objectOf(part)
      return found === part ? found : typeof part === 'string' ? part : JSON.stringify(part)
    })
}

/** The result of a call, by its id; null for what no call has given. */
export interface Given {
  readonly callId: string | null
  readonly content: readonly Content[]
}

/** What a list of parts gives to each call that it names: the parts behind a response belong to it. O(size). */
export function givenIn(value: unknown): Given[] {
  const all: { callId: string | null; content: Content[] }[] = []
  for (const part of listOf(value)) {
    const response = objectOf(part)['functionResponse']
    const isNext = response !== undefined && response !== null
    const last = all.at(-1)
    const content = isNext ? responseOf(objectOf(response)) : contentOf([part])
    if (isNext) all.push({ callId: stringOf(objectOf(response)['id']) || null, content })
    else if (last !== undefined) last.content.push(...content)
    else all.push({ callId: null, content })
  }
  return all
}

/** The words of a response, and what files stand beside them. */
function responseOf({ response, parts }: Found): Content[] {
  const fields = Object.keys(objectOf(response))
  const [field = ''] = fields
  const isPlain = fields.length === 1 && (field === 'output' || field === 'error')
  const said = fields.length === 0 ? [] : contentOf(isPlain ? objectOf(response)[field] : response)
  return [...said, ...contentOf(parts)]
}

/** What a call gave, and what of its record says it again. */
export interface CallResult {
  readonly content: readonly Content[]
  readonly twice: readonly string[]
}

/**
 * The result of a call that is done. Where a history was written anew, it holds the results of all calls of the reply;
 * `ids` are these. What was shown to the user is the result where there is no other. O(size).
 */
export function resultOf({ id, result, resultDisplay }: Found, ids: ReadonlySet<string>): CallResult {
  const content: Content[] = []
  const twice: string[] = []
  if (result !== null && result !== undefined)
    for (const given of givenIn(result)) {
      const isOthers = given.callId !== null && given.callId !== id && ids.has(given.callId)
      if (isOthers) twice.push('a result beside that of another call')
      else content.push(...given.content)
    }
  const isShown = resultDisplay !== null && resultDisplay !== undefined && resultDisplay !== ''
  if (isShown && content.length > 0) twice.push('resultDisplay')
  else if (isShown)
    content.push(
      ...contentOf(typeof resultDisplay === 'string' ? resultDisplay : JSON.stringify(resultDisplay)),
    )
  return { content, twice }
}
