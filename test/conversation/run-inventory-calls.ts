/** Conversations with pending calls, for the inventory of runs. */

import { expect } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import type { Event } from '../../src/event/types.ts'
import { logOf, script, startConversation, status } from './script.ts'

export const ALWAYS = { kind: 'AlwaysConfirm' }

export const count = async (conversation: Conversation, line: string): Promise<number> =>
  (await logOf(conversation)).filter((each) => each.startsWith(line)).length

/** A conversation that waits for confirmation of these calls. */
export async function waiting(...calls: readonly Event[]) {
  const { conversation } = await startConversation()
  await conversation.setConfirmationPolicy(ALWAYS)
  const { step, requests, executed } = script([calls])
  await conversation.run(step)
  expect(await status(conversation)).toBe('waiting_for_confirmation')
  return { conversation, step, requests, executed }
}
