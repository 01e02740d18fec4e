import { redact } from '../../src/context/redaction/redact.ts'
import { type RedactionOptions, redactionRules } from '../../src/context/redaction/rules.ts'

/** The mask without a key. */
export const MASK = '[redacted]'

/** Only the rules that are passed. */
export const BARE: RedactionOptions = { builtIn: false, fields: [] }

export function output(text: string, options: RedactionOptions = {}): string {
  const rules = redactionRules(options)
  return redact({ kind: 'AgentErrorEvent', tool_name: 't', tool_call_id: 'c', error: text }, rules).error
}
