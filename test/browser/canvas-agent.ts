/**
 * An agent for tests of the official web page. It streams a reply. If the user's message contains `tool`, it
 * calls a tool. If the message contains `slow`, it waits in the middle of its reply until the file GATE exists.
 */

import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { RunOptions, Step } from '../../src/conversation/index.ts'
import type { ActionEvent, MessageEvent } from '../../src/event/index.ts'
import type { EventEntry } from '../../src/log/entry.ts'

/** Short, so that another process soon continues the run of a killed process. */
export const run: RunOptions = { leaseTtl: 2_500 }

/** Pieces of the reply. A slow reply waits after the second. */
export const PIECES = ['First', ' words', ' of', ' the', ' reply.']

const replyId = (): string => `reply-${crypto.randomUUID()}`

export const step: Step = async function* ({ state, approved, signal }) {
  if (approved.length > 0) {
    for (const call of approved) yield result(call)
    return
  }
  const userMessage = JSON.stringify(state.branch.lastUserMessage?.event?.llm_message.content ?? [])
  const last = state.log.head?.event?.kind
  if (userMessage.includes('tool') && last === 'MessageEvent') {
    yield call(replyId())
    return
  }
  const pieces = last === 'ObservationEvent' ? ['Done', ' it.'] : PIECES
  for (const [index, content] of pieces.entries()) {
    if (index === 2 && userMessage.includes('slow')) await gate(signal)
    yield { kind: 'StreamingDeltaEvent', source: 'agent', content }
  }
  yield messageOf(pieces.join(''))
}

async function gate(signal: AbortSignal): Promise<void> {
  while (!signal.aborted && !existsSync(process.env['GATE'] ?? '')) await delay(20)
}

const messageOf = (text: string): MessageEvent => ({
  kind: 'MessageEvent',
  source: 'agent',
  llm_message: { role: 'assistant', content: [{ type: 'text', text }] },
  llm_response_id: replyId(),
})

const call = (id: string): ActionEvent => ({
  kind: 'ActionEvent',
  source: 'agent',
  thought: [{ type: 'text', text: 'I list the files.' }],
  action: { kind: 'TerminalAction', command: 'ls' },
  tool_name: 'terminal',
  tool_call_id: id,
  tool_call: { id, name: 'terminal', arguments: '{"command":"ls"}', origin: 'completion' },
  llm_response_id: id,
  security_risk: 'HIGH',
})

const result = ({ id, event }: EventEntry<ActionEvent>) => ({
  kind: 'ObservationEvent' as const,
  source: 'environment' as const,
  tool_name: event.tool_name,
  tool_call_id: event.tool_call_id,
  action_id: id,
  observation: {
    kind: 'TerminalObservation',
    content: [{ type: 'text' as const, text: 'readme.md' }],
    command: 'ls',
    exit_code: 0,
  },
})
