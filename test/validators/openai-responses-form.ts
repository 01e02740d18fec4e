/** The form of a Responses request: which fields it has, and what the rules see of it. */

import { type Step, type Turn, turnsOf } from './pairing.ts'
import { asList, asObject, type JsonObject } from './rule.ts'
import { anything, byKey, fields, listOf, object, oneOf, orNull, text, textOr } from './shape.ts'

interface Part {
  readonly path: string
  readonly body: JsonObject
}

interface Item extends Part {
  readonly type: unknown
  /** Of messages only. */
  readonly role: unknown
  readonly content: unknown
  /** The parts of a message's content or of a call's output. */
  readonly parts: readonly Part[]
}

export interface View {
  readonly request: unknown
  readonly input: unknown
  readonly items: readonly Item[]
  readonly calls: readonly Item[]
  readonly turns: readonly Turn[]
}

const cached = { prompt_cache_breakpoint: orNull(object) }
const partShapes = {
  input_text: fields({ text }, cached),
  input_image: fields(
    { image_url: text },
    { detail: oneOf('low', 'high', 'auto', 'original', null), ...cached },
  ),
  output_text: fields({ text }, { annotations: listOf(object), logprobs: listOf(object) }),
  refusal: fields({ refusal: text }),
}
const content = textOr(listOf(byKey('type', partShapes)))
const { input_text, input_image } = partShapes
const output = textOr(listOf(byKey('type', { input_text, input_image })))
const status = oneOf('in_progress', 'completed', 'incomplete')
const message = fields({ content }, { id: text, status })
const phase = oneOf('commentary', 'final_answer', null)
const reply = fields({ content }, { id: text, status, phase })
export const shape = fields({
  instructions: orNull(text),
  input: listOf(
    byKey(
      'type',
      {
        message: byKey('role', {
          user: message,
          system: message,
          developer: message,
          assistant: reply,
        }),
        function_call: fields({ call_id: text, name: text, arguments: text }, { id: text, status }),
        function_call_output: fields({ call_id: text, output }, { id: text, status }),
        reasoning: fields(
          { summary: listOf(byKey('type', { summary_text: fields({ text }) })) },
          { id: text, encrypted_content: orNull(text), content: anything },
        ),
      },
      'message',
    ),
  ),
})

/** What the rules look at, read out of whatever the request may be. */
export function viewOf(request: unknown): View {
  const { input } = asObject(request)
  const items = asList(input).map((item, index): Item => {
    const path = `input[${index}]`
    const body = asObject(item)
    const type = body['type'] ?? 'message'
    const inside = type === 'function_call_output' ? 'output' : 'content'
    const content = body[inside]
    const parts = asList(type === 'reasoning' ? [] : content).map((part, at) => ({
      path: `${path}.${inside}[${at}]`,
      body: asObject(part),
    }))
    return { path, body, type, role: type === 'message' ? body['role'] : undefined, content, parts }
  })
  const calls = items.filter(({ type }) => type === 'function_call')
  return { request, input, items, calls, turns: turnsOf(items.map(stepOf)) }
}

function stepOf({ type, role, path, body }: Item): Step {
  const ref = { id: body['call_id'], path }
  if (type === 'function_call') return { call: ref }
  if (type === 'function_call_output') return { answer: ref }
  return type === 'reasoning' || role === 'assistant' ? 'assistant' : 'break'
}
