/** What becomes of a text in an event that is redacted: a text and options go in, the text comes out. */

import { redact } from '../../src/context/redaction/redact.ts'
import { type RedactionOptions, redactionRules } from '../../src/context/redaction/rules.ts'

/** What masks look like without a key. */
export const MASK = '[redacted]'

/** No rules but those that are given. */
export const BARE: RedactionOptions = { builtIn: false, fields: [] }

/** The text after it stood in an event and that was redacted. */
export function output(text: string, options: RedactionOptions = {}): string {
  const rules = redactionRules(options)
  return redact({ kind: 'AgentErrorEvent', tool_name: 't', tool_call_id: 'c', error: text }, rules).error
}
