/**
 * Arbitrary tool calls, actions and observations: of published tools, of users' own, and arguments that are no JSON.
 */

import * as fc from 'fast-check'
import type { Action, MessageToolCall, Observation } from '../event/shapes.ts'
import { anyContent } from './content.ts'
import { openFields } from './json.ts'
import { orNull, shape } from './shape.ts'
import { anyText } from './text.ts'

/** Names of tools. `finish` is the one that ends a run. */
export const toolName = (): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom('terminal', 'think', 'my_tool', 'finish') },
    { weight: 1, arbitrary: fc.constantFrom('', 'a name.with:signs', 'x'.repeat(70)) },
  )

/**
 * The arguments of a call as text: an object, other JSON, or none at all.
 * @example
 * fc.sample(toolArguments(), 1).length // 1
 */
export const toolArguments = (): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom('{}', '{"command":"ls"}', '{"deep":{"list":[1,null]}}') },
    {
      weight: 2,
      arbitrary: fc.constantFrom('', '{"command":', 'null', '[]', '"ls"', '7', '{"__proto__":1}', '{"a":1}{'),
    },
    { weight: 1, arbitrary: anyText() },
  )

/**
 * A call as its provider wrote it; `id` is that of the event around it, or one of its own.
 * @example
 * fc.assert(fc.property(toolCall(fc.constant('c1')), call => call.id === 'c1'))
 */
export function toolCall(id: fc.Arbitrary<string>): fc.Arbitrary<MessageToolCall> {
  const call = shape(
    {
      id,
      name: toolName(),
      arguments: toolArguments(),
      origin: fc.constantFrom('completion' as const, 'responses' as const),
    },
    { responses_item_id: orNull(fc.constantFrom('fc_1', 'fc_2', '')) },
  )
  return fc.tuple(openFields(), call).map(([open, known]) => ({ ...open, ...known }))
}

/**
 * An action: none, of a published kind, or of a user's tool with fields of any kind.
 * @example
 * fc.sample(anyAction(), 1).length // 1
 */
export function anyAction(): fc.Arbitrary<Action | null> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant(null) },
    {
      weight: 3,
      arbitrary: fc.constantFrom<Action>(
        { kind: 'TerminalAction', command: 'ls' },
        { kind: 'ThinkAction', thought: 'hm' },
        { kind: 'FinishAction', message: 'done' },
        { kind: 'FileEditorAction', command: 'view', path: '/etc/hosts' },
      ),
    },
    { weight: 2, arbitrary: openFields().map((open) => ({ ...open, kind: 'ClientAction_mine' })) },
  )
}

/**
 * An observation: empty, an error, with images, of a user's tool.
 * @example
 * fc.sample(anyObservation(), 1).length // 1
 */
export function anyObservation(): fc.Arbitrary<Observation> {
  const known = shape(
    { kind: fc.constantFrom('ClientToolObservation', 'MyObservation') },
    { content: anyContent(), is_error: fc.boolean() },
  )
  return fc.tuple(openFields(), known).map(([open, rest]) => ({ ...open, ...rest }))
}
