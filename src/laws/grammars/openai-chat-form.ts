/** The form of Chat Completions messages: which fields they have, and what the rules see of them. */

import { chatFiles } from './files.ts'
import { type Step, type Turn, turnsOf } from './pairing.ts'
import { asList, asObject, type JsonObject } from './rule.ts'
import { byKey, fields, listOf, object, oneOf, orNull, text, textOr } from './shape.ts'

interface Part {
  readonly path: string
  readonly body: JsonObject
}

interface Call extends Part {
  readonly id: unknown
  readonly name: unknown
  readonly args: unknown
}

interface Message extends Part {
  readonly role: unknown
  readonly content: unknown
  readonly parts: readonly Part[]
  readonly calls: readonly Call[]
}

export interface View {
  readonly request: unknown
  readonly messages: readonly Message[]
  readonly calls: readonly Call[]
  readonly turns: readonly Turn[]
}

const cached = { prompt_cache_breakpoint: object }
const image = fields({ url: text }, { detail: oneOf('auto', 'low', 'high', 'original') })
const partShapes = {
  text: fields({ text }, cached),
  image_url: fields({ image_url: image }, cached),
  ...chatFiles(cached),
}
const content = textOr(listOf(byKey('type', partShapes)))
const reply = textOr(listOf(byKey('type', { ...partShapes, refusal: fields({ refusal: text }) })))
/** What Gemini's own servers sign a call with, and what a proxy does, which they take back in this grammar too. */
const added = { extra_content: object, provider_specific_fields: object }
const call = byKey('type', {
  function: fields({ id: text, function: fields({ name: text, arguments: text }) }, added),
  custom: fields({ id: text, custom: fields({ name: text, input: text }) }, added),
})
export const shape = listOf(
  byKey('role', {
    system: fields({ content }, { name: text }),
    developer: fields({ content }, { name: text }),
    user: fields({ content }, { name: text }),
    assistant: fields(
      {},
      {
        content: orNull(reply),
        refusal: orNull(text),
        name: text,
        tool_calls: listOf(call),
        // What a reply has and goes back with, by the SDK's own examples; the last three are of other servers.
        annotations: listOf(object),
        reasoning_content: text,
        reasoning_details: listOf(object),
        extra_content: object,
      },
    ),
    tool: fields({ content, tool_call_id: text }),
  }),
)

/** What the rules look at, read out of whatever the request may be. */
export function viewOf(request: unknown): View {
  const messages = asList(request).map((message, index): Message => {
    const path = `messages[${index}]`
    const body = asObject(message)
    const parts = asList(body['content']).map((part, at) => ({
      path: `${path}.content[${at}]`,
      body: asObject(part),
    }))
    const calls = asList(body['tool_calls']).map((item, at): Call => {
      const itemBody = asObject(item)
      const { name, arguments: args } = asObject(itemBody['function'] ?? itemBody['custom'])
      return { path: `${path}.tool_calls[${at}]`, body: itemBody, id: itemBody['id'], name, args }
    })
    return { path, body, role: body['role'], content: body['content'], parts, calls }
  })
  const turns = turnsOf(messages.flatMap(stepsOf))
  return { request, messages, calls: messages.flatMap(({ calls }) => calls), turns }
}

function stepsOf({ role, body, path, calls }: Message): Step[] {
  if (role === 'tool') return [{ result: { id: body['tool_call_id'], path } }]
  return ['break', ...calls.map((made) => ({ call: made }))]
}
