/** The entry `colloquy/redaction`: secrets taken out of events, logs and stores by rules. */

export type { BuiltInPattern } from './built-in.ts'
export { SECRET_FIELDS } from './field-names.ts'
export { redactRecord } from './record.ts'
export { redact, redactLog, type RedactLogOptions } from './redact.ts'
export { type RedactionOptions, redactionRules, type RedactionRules } from './rules.ts'
export { redactingStore, redactStored } from './store.ts'
