/** What becomes of each kind of part that a step of the AI SDK gives. */

import type { Kinds } from '../kinds.ts'
import { base64, id, mediaType } from '../part-shapes.ts'
import { boolean, mapOf, object, open, optional, string } from '../shape.ts'

/** What the SDK hands to a provider for itself, and has from it: signatures, ids of items. */
const OPTIONS = { providerOptions: object } as const

const KEPT = { in: 'part', side: 'assistant', signed: 'providerOptions' } as const

const ADDED = { providerOptions: optional(mapOf(object)) } as const

const FILE = {
  ...KEPT,
  needs: { data: base64, mediaType: mediaType, filename: optional(string), ...ADDED },
} as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: OPTIONS },
  reasoning: { in: 'standard', side: 'assistant', more: OPTIONS },
  /** One that the provider has executed itself is kept whole, and so is its result. */
  'tool-call': {
    ...KEPT,
    needs: { toolCallId: id, toolName: string, input: object, providerExecuted: optional(boolean), ...ADDED },
    more: OPTIONS,
  },
  'tool-result': {
    ...KEPT,
    needs: { toolCallId: id, toolName: string, output: open({ type: string }), ...ADDED },
  },
  /** It goes back as a result. */
  'tool-error': { in: 'standard', side: 'assistant' },
  file: FILE,
  'reasoning-file': FILE,
  custom: { ...KEPT, needs: { kind: string, ...ADDED } },
  source: { in: 'about', side: 'assistant' },
  'tool-approval-request': { in: 'about', side: 'assistant' },
  'tool-approval-response': { in: 'about', side: 'assistant' },
} as const satisfies Kinds
