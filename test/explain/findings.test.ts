/** The first finding of a log with a common mistake names it; the log without it has no such finding. */

import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { type FindingOptions, findings } from '../../src/explain/findings.ts'
import type { RequestWriter } from '../../src/laws/requests.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import { anthropicStep, type StepTool } from '../../src/steps/index.ts'
import { system } from '../build.ts'
import { begin, branch } from '../conversation/agent.ts'
import { FIELD_BUGS } from './field-bugs.ts'

describe('findings of common mistakes', () => {
  it.each(FIELD_BUGS)(
    'report $name first, and only notes in the healthy log',
    ({ log, healthy, kind, pattern, ids }) => {
      const [first] = findings(log)
      expect(first).toMatchObject({ kind, ids })
      expect(first?.text).toMatch(pattern)
      expect(findings(replay(log))).toEqual(findings(log))
      expect(findings(healthy).filter((one) => one.severity !== 'note')).toEqual([])
      expect(findings(healthy).filter((one) => one.kind === kind)).toEqual([])
    },
  )
})

/** The log of a run whose model signs its thinking, and whose system prompt changes. */
async function logOf(write: (state: State) => readonly NeutralMessage[]): Promise<readonly Event[]> {
  let requestCount = 0
  const create = async () => {
    requestCount += 1
    const thinking = { type: 'thinking', thinking: '', signature: `signed ${requestCount}` }
    const call = { type: 'tool_use', id: `toolu_${requestCount}`, name: 'read', input: {} }
    const [content, stop_reason] =
      requestCount % 3 === 0 ? [{ type: 'text', text: 'Done.' }, 'end_turn'] : [call, 'tool_use']
    return { id: `msg_${requestCount}`, model: 'm', content: [thinking, content], stop_reason }
  }
  const read: StepTool = {
    name: 'read',
    description: 'Reads.',
    parameters: { type: 'object' },
    execute: () => 'word '.repeat(100),
  }
  const step = anthropicStep({
    client: { messages: { create } },
    model: 'm',
    max_tokens: 10,
    stream: false,
    tools: [read],
    system: 'Be brief.',
    write,
  })
  const conversation = await begin('Read it.')
  await conversation.run(step)
  await conversation.append(system('s', 'Be kind.'))
  await conversation.sendMessage('Again.')
  await conversation.run(step)
  return branch(conversation)
}
const bad = (log: readonly Event[], options: FindingOptions = {}): string[] =>
  findings(log, options).flatMap(({ kind, severity }) => (severity === 'note' ? [] : [kind]))

const cut: RequestWriter = (state, options) => toMessages(state, { ...options, maxResultLength: 20 })

describe('findings with the messages of a server', () => {
  it('report a broken signature only if a later system prompt replaces the first', async () => {
    const append = await logOf((state) => toMessages(state, { system: 'append' }))
    expect(bad(append)).toEqual([])
    expect(bad(await logOf(toMessages))).toContain('signed_behind_change')
  })

  it('report no broken signature if the messages option shortens results as the server did', async () => {
    const log = await logOf((state) => cut(state, { system: 'append' }))
    expect(bad(log, { messages: cut })).toEqual([])
    expect(bad(log)).toContain('signed_behind_change')
  })
})
