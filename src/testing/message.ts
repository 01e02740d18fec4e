/** Arbitrary messages to and from a model, with everything that the shape allows and most producers never write. */

import * as fc from 'fast-check'
import type { Message } from '../event/shapes.ts'
import { toolCall } from './call.ts'
import { anyContent } from './content.ts'
import { openFields } from './json.ts'
import { orNull, shape } from './shape.ts'
import { anyText } from './text.ts'
import { anyThinking, reasoningItem } from './thinking.ts'

/**
 * Any message, mostly of the given role.
 * @example
 * fc.sample(anyMessage('user'), 1).length // 1
 */
export function anyMessage(role: 'user' | 'assistant'): fc.Arbitrary<Message> {
  const roles = fc.oneof(
    { weight: 8, arbitrary: fc.constant(role) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('user' as const, 'system' as const, 'assistant' as const, 'tool' as const),
    },
  )
  const common = shape({ role: roles }, { content: anyContent() })
  // Most messages have none of these: a message that always had calls would never merge, nor end a run.
  const rare = shape(
    {},
    {
      tool_calls: orNull(fc.array(toolCall(fc.constantFrom('c0', 'c1')), { maxLength: 2 })),
      tool_call_id: orNull(fc.constantFrom('c0', 'c9')),
      name: orNull(anyText()),
      reasoning_content: orNull(anyText()),
      thinking_blocks: fc.array(anyThinking(), { maxLength: 2 }),
      responses_reasoning_item: orNull(reasoningItem()),
    },
  )
  const extra = fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: rare })
  return fc.tuple(openFields(), common, extra).map(([open, known, more]) => ({ ...open, ...known, ...more }))
}
