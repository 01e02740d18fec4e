/** Redaction rules that match rarely to always. */

import { type RedactionOptions, type RedactionRules, redactionRules } from '../src/context/redaction/rules.ts'

const OPTIONS: readonly RedactionOptions[] = [
  { patterns: [/[a-z]+/] },
  { patterns: [/\w{3}/, /\d+/], key: 'k' },
  { patterns: [/[^]/], key: 'k' },
  { patterns: [/\s+/, /\bfoo/, /[[\]:#{}",]+/] },
  { patterns: [/o(?!\w)/i, /e/], fields: ['text', 'id', 'kind', 'value', 'source', 'type', 'name'] },
  { builtIn: false, patterns: [/redacted|\d\]/], key: 'another' },
  {},
]

export const GREEDY: readonly RedactionRules[] = OPTIONS.map((options) => redactionRules(options))
