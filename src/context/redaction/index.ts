/** The entry `colloquy/redaction`: removes secrets from events, logs and stores. */

export { type BuiltInPattern, SECRET_FIELDS } from './known-forms.ts'
export { redact, redactLog, type RedactLogOptions } from './redact.ts'
export { type RedactionOptions, redactionRules, type RedactionRules } from './rules.ts'
export { redactingStore, redactRecord, redactStored } from './store.ts'
