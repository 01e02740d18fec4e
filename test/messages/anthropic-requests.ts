import { expect } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { validateAnthropic } from '../../src/messages/anthropic/rules.ts'
import type { AnthropicRequest } from '../../src/messages/anthropic/blocks.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'

/** Returns the request of a log, which must be valid. */
export function write(...events: readonly Event[]): AnthropicRequest {
  const request = toAnthropic(toMessages(replay(events)))
  expect(validateAnthropic(request)).toEqual([])
  return request
}

export const messages = (...events: readonly Event[]) => write(...events).messages
