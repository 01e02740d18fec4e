/**
 * Calls of OpenAI Responses that a client executes and that are no function calls: what they ask for, as arguments of a
 * tool, and how a call and its result go back in the form of their kind.
 */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { isObject, without } from '../../event/json.ts'
import { argumentObject } from '../arguments.ts'
import { type Found, stringOf, textOfInput } from '../found.ts'
import { urlOf } from '../images.ts'
import { isItem } from '../pieces.ts'
import { wellFormed } from '../text.ts'
import type { Call, Result } from '../turns.ts'
import { contentOf } from './content.ts'

/** How a call is read. Apart from how it is written, as a writer needs none of it. */
interface Asked {
  /** The tool that is called; null where the call names it itself. */
  readonly tool: string | null
  /** What the call asks for, as the text of a call. */
  readonly asks: (item: Found) => string
}

/** A call whose field holds what it asks for. */
const askedIn = (tool: string | null, field: string): Asked => ({
  tool,
  asks: (item) => textOfInput(item[field]),
})

const ASKED: ReadonlyMap<unknown, Asked> = /* @__PURE__ */ new Map([
  ['custom_tool_call', /* @__PURE__ */ askedIn(null, 'input')],
  ['shell_call', /* @__PURE__ */ askedIn('shell', 'action')],
  ['local_shell_call', /* @__PURE__ */ askedIn('local_shell', 'action')],
  ['apply_patch_call', /* @__PURE__ */ askedIn('apply_patch', 'operation')],
  [
    'computer_call',
    {
      tool: 'computer',
      asks: ({ action, actions }) => textOfInput(actions === undefined ? { action } : { actions }),
    },
  ],
])

/** The tool and the arguments of a call; null for an item that is none of these kinds. O(size). */
export function askedOf(item: Found): { readonly name: string; readonly arguments: string } | null {
  const asked = ASKED.get(item['type'])
  return asked === undefined
    ? null
    : { name: asked.tool ?? stringOf(item['name']), arguments: asked.asks(item) }
}

/** How a call is written. */
interface Form {
  /** What the call asks for, as fields of the item. */
  readonly fields: (call: Call) => JsonObject
  /** The item of a result; null where the kind has no room for all of it. */
  readonly output: (call_id: string, result: Result) => JsonObject | null
}

/** A call whose field `action` or the like holds what it asks for, and whose result is text. */
const inField = (
  field: string,
  output: (call_id: string, said: string, isError: boolean) => JsonObject,
): Form => ({
  fields: ({ source }) => ({ [field]: argumentObject(source.arguments), status: 'completed' }),
  output: (call_id, { pieces, isError }) => {
    const said = contentOf(pieces)
    return typeof said === 'string' ? output(call_id, said, isError) : null
  },
})

const FORMS: Readonly<Record<string, Form>> = {
  custom_tool_call: {
    fields: ({ name, source }) => ({ name, input: wellFormed(source.arguments) }),
    output: (call_id, { pieces }) => ({
      type: 'custom_tool_call_output',
      call_id,
      output: contentOf(pieces) as JsonValue,
    }),
  },
  shell_call: inField('action', (call_id, said, isError) => ({
    type: 'shell_call_output',
    call_id,
    output: [
      {
        stdout: isError ? '' : said,
        stderr: isError ? said : '',
        outcome: { type: 'exit', exit_code: isError ? 1 : 0 },
      },
    ],
  })),
  local_shell_call: inField('action', (id, output) => ({
    type: 'local_shell_call_output',
    id,
    output,
  })),
  apply_patch_call: inField('operation', (call_id, output, isError) => ({
    type: 'apply_patch_call_output',
    call_id,
    status: isError ? 'failed' : 'completed',
    output,
  })),
  computer_call: {
    fields: ({ source }) => ({
      pending_safety_checks: [],
      ...actionsOf(argumentObject(source.arguments)),
      status: 'completed',
    }),
    // The provider takes nothing but a screenshot.
    output: (call_id, { pieces: [shot, ...more] }) =>
      shot?.type !== 'image' || more.length > 0
        ? null
        : {
            type: 'computer_call_output',
            call_id,
            output: { type: 'computer_screenshot', image_url: urlOf(shot.image) },
          },
  },
}

/** Nothing else of what may stand in arguments is a field of the call. */
const actionsOf = ({ action, actions }: JsonObject): JsonObject =>
  Array.isArray(actions) ? { actions } : { action: isObject(action) ? action : { type: 'screenshot' } }

const formOf = (type: unknown): Form | null =>
  typeof type === 'string' && Object.hasOwn(FORMS, type) ? (FORMS[type] ?? null) : null

/**
 * The fields of a call in the form of its kind, and its result: as it was given where that is an item of this form,
 * else what it says. Null where either has no place there. O(size).
 */
export function inOwnForm(
  type: unknown,
  call: Call,
  result: Result | undefined,
): { readonly fields: JsonObject; readonly output: JsonObject } | null {
  const form = formOf(type)
  if (form === null || result === undefined) return null
  const [given, ...more] = result.pieces
  const isGiven =
    given !== undefined &&
    isItem(given) &&
    given.block['type'] === `${String(type)}_output` &&
    more.length === 0
  const output = isGiven ? asGiven(given.block, call.id) : form.output(call.id, result)
  return output === null ? null : { fields: form.fields(call), output }
}

/** The local shell has the id of the call in a field of another name. */
const asGiven = (block: JsonObject, call_id: string): JsonObject =>
  block['type'] === 'local_shell_call_output'
    ? { ...block, id: call_id }
    : { ...without(block, 'id'), call_id }
