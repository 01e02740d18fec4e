/** What becomes of each field of an assistant's message in OpenAI Chat Completions, as its servers write it. */

import type { Kinds } from '../kinds.ts'
import { objects } from '../part-shapes.ts'
import { object } from '../shape.ts'

export const KINDS = {
  content: { in: 'standard', side: 'both' },
  refusal: { in: 'standard', side: 'assistant' },
  tool_calls: {
    in: 'standard',
    side: 'assistant',
    more: { extra_content: object, provider_specific_fields: object },
  },
  /** The old form of a call, which no server gives any more. */
  function_call: { in: 'words', side: 'assistant' },
  annotations: { in: 'part', side: 'assistant', needs: { annotations: objects } },
  /** The server forgets its audio after a while, and then refuses its id. */
  audio: { in: 'words', side: 'assistant' },
  /** A mark that reasoning came there with calls: its text is in the field that all events have. */
  reasoning_content: { in: 'part', side: 'assistant' },
  /** Signed reasoning, as routers give it. */
  reasoning_details: {
    in: 'part',
    side: 'assistant',
    needs: { reasoning_details: objects },
    signed: 'reasoning_details',
  },
  /** What a server adds for itself, such as the thought signatures of Gemini. */
  extra_content: { in: 'part', side: 'assistant', needs: { extra_content: object } },
} as const satisfies Kinds
