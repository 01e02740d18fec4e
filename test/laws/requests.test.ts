/** Tests the search for signed reply parts that can no longer be sent (M13). */

import { expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { checkLog } from '../../src/laws/check-log.ts'
import { type RequestWriter, sampled } from '../../src/laws/requests.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { requestRecord, type WriteOptions } from '../../src/messages/prefix.ts'
import { replay } from '../../src/state/reduce.ts'
import { condensation, user } from '../build.ts'

function conversation(turns: number, optionsOf = (_turn: number): WriteOptions => ({})): Event[] {
  const log: Event[] = []
  for (let n = 0; n < turns; n += 1) {
    log.push(user(`u${n}`))
    const options = optionsOf(n)
    const { model } = options
    const { prefix, tools } = requestRecord(toAnthropic(toMessages(replay(log)), options)) ?? {}
    const reply = {
      grammar: 'anthropic',
      prefix,
      after: `u${n}`,
      ...(tools !== undefined && { tools }),
      ...(model !== undefined && { model: 'an alias', requested_model: model }),
    }
    const thinking_blocks = [{ type: 'thinking', thinking: `hm ${n}`, signature: 'c2ln' }]
    const llm_message = {
      role: 'assistant',
      content: [{ type: 'text', text: `so ${n}` }],
      thinking_blocks,
      reply,
    }
    log.push({
      kind: 'MessageEvent',
      id: `r${n}`,
      source: 'agent',
      llm_message,
      llm_response_id: `l${n}`,
    } as Event)
  }
  return log
}

const violations = (log: readonly Event[]) =>
  checkLog(log, { grammars: ['anthropic'] }).map(({ law, id }) => [law, id])

it('checkLog reports M13 after a changed or inserted event, not after a condensation', () => {
  const log = conversation(4)
  expect(violations(log)).toEqual([])
  expect(violations([...log, condensation('c', ['u0', 'r0'])])).toEqual([])
  const altered = log.with(2, user('u1', 'something else'))
  expect(violations(altered)).toContainEqual(['M13', 'r1'])
  expect(checkLog(altered)).toEqual([])
  const steered = log.toSpliced(2, 0, { ...user('late'), parent_id: 'r0' })
  expect(violations(steered).map(([law]) => law)).toContain('M13')
})

it.each<readonly [string, (turn: number) => WriteOptions]>([
  ['other tools', (turn) => ({ tools: turn < 2 ? [{ name: 'ls' }] : [] })],
  ['another model under the same reported name', (turn) => ({ model: turn < 2 ? 'fast' : 'large' })],
])('checkLog accepts a log that continued with %s, and reports a change of it', (_name, optionsOf) => {
  const log = conversation(4, optionsOf)
  expect(violations(log)).toEqual([])
  expect(violations(log.with(4, user('u2', 'something else')))).toContainEqual(['M13', 'r2'])
})

it.each([1, 2, 3, 6, 7, 12, 25, 100])('writes at most 13 + 3 · log2(n) requests for %i replies', (turns) => {
  // Every reply has signed parts that match neither its prefix nor the log.
  const [said, answer] = conversation(1) as [Event, Event]
  const long = Array.from({ length: turns }, (_, n) => {
    const { llm_message } = answer as Event & { llm_message: object }
    const reply = { grammar: 'anthropic', prefix: `p${n}`, after: `u${n}` }
    return [
      { ...said, id: `u${n}` },
      { ...answer, id: `r${n}`, llm_response_id: `l${n}`, llm_message: { ...llm_message, reply } },
    ] as Event[]
  }).flat()
  let count = 0
  const messages: RequestWriter = (state, options) => {
    count += 1
    return toMessages(state, options)
  }
  const found = checkLog(long, { grammars: ['anthropic'], messages })
  expect(found.filter(({ law }) => law === 'M13').length).toBeGreaterThan(0)
  expect(count).toBeLessThanOrEqual(13 + 3 * Math.log2(long.length))
  if (turns > 6) expect(count).toBeGreaterThan(13)
})

it('sampled() returns the last positions and ever sparser ones before them', () => {
  expect(sampled([1, 2, 3])).toEqual([1, 2, 3])
  const positions = sampled(Array.from({ length: 100_000 }, (_, index) => index))
  expect(positions.slice(-6)).toEqual([99_994, 99_995, 99_996, 99_997, 99_998, 99_999])
  expect(positions.length).toBeLessThan(24)
})
