import { expect } from 'vitest'
import { redact } from '../../src/context/redaction/redact.ts'
import { type RedactionOptions, redactionRules } from '../../src/context/redaction/rules.ts'
import { decodeEvent } from '../../src/event/decode.ts'
import type { Event } from '../../src/event/types.ts'

export const S = 'opensesame'
export const RULES = redactionRules({ secrets: [S] })
export const EVERYTHING = redactionRules({ patterns: [/[^]/] })
export const using = (options: RedactionOptions) => redactionRules({ builtIn: false, fields: [], ...options })

export const action = (more: object = {}): Event =>
  ({
    kind: 'ActionEvent',
    id: 'a1',
    thought: [],
    tool_name: 'terminal',
    tool_call_id: 'c1',
    tool_call: { id: 'c1', name: 'terminal', arguments: '{}', origin: 'completion' },
    llm_response_id: 'r1',
    ...more,
  }) as Event

/** The redacted event, which must still be valid. */
export function redacted(event: object, rules = RULES): Readonly<Record<string, unknown>> {
  const after = redact(event as Event, rules)
  expect(decodeEvent(after).ok).toBe(true)
  expect(redact(after, rules)).toBe(after)
  return after as object as Readonly<Record<string, unknown>>
}
