/** X10: erasing an event's content preserves the tree, pairing, views, status and requests. */

import * as fc from 'fast-check'
import { describe, it } from 'vitest'
import { isPendingCall, planErasure } from '../src/conversation/erase.ts'
import { ERASED, erasedFact } from '../src/event/erase.ts'
import { decodeEvent } from '../src/event/decode.ts'
import type { Fact } from '../src/event/quarantine.ts'
import type { Event } from '../src/event/types.ts'
import { renderMessage } from '../src/messages/neutral.ts'
import { replay } from '../src/state/reduce.ts'
import { hold, same } from '../src/testing/failure.ts'
import { anyEvent, hostileLog, legalLog } from '../src/testing/index.ts'
import { checkGrammars, checkNeutral, checkThinking, checkWords } from './checks/messages.ts'
import { checkSameShape } from './checks/redaction.ts'
import { eventWith } from './hidden-secrets.ts'
import { always, COSTLY_RUNS, RUNS } from './run.ts'

function erasedLog(facts: readonly Fact[], position: number, state = replay(facts)): readonly Fact[] | null {
  const entry = state.log.entries.get(position)
  if (entry?.inTree !== true || entry.id === null || isPendingCall(state, entry.id)) return null
  const after = [...facts]
  for (const { seq, before, after: replaced } of planErasure(state, entry.id)) {
    hold(
      'X10',
      before === facts[seq] || JSON.stringify(before) === JSON.stringify(facts[seq]),
      'another body',
    )
    after[seq] = replaced
  }
  return after
}

/** Checks requests for only one of the erasures. */
function checkErased([facts, nth]: readonly [readonly Fact[], number]): void {
  const state = replay(facts)
  const logs = facts.flatMap((_, position) => {
    const after = erasedLog(facts, position, state)
    if (after === null) return []
    checkSameShape(facts, after)
    same('X10', 'erased again', erasedLog(after, position), after)
    return [after]
  })
  const judged = logs[nth % logs.length]
  if (judged === undefined) return
  for (const judge of [checkGrammars, checkThinking, checkNeutral, checkWords]) judge(judged)
}

/** Fields that folding and tools need. */
const KEPT = [
  'id',
  'key',
  'timestamp',
  'parent_id',
  'tool_call_id',
  'action_id',
  'llm_response_id',
  'tool_name',
  'name',
  'code',
  'tool_kind',
  'status',
  'model_name',
  'usage_id',
  'activated_skills',
  'tools',
]

const contentIn = (fact: Fact): string =>
  JSON.stringify(fact, (key, value: unknown) => (KEPT.includes(key) ? undefined : value))

const call = (id: string, fields: object): Event => ({
  kind: 'ActionEvent',
  id,
  thought: [],
  tool_name: 'ls',
  tool_call_id: id,
  tool_call: { id, name: 'ls', arguments: '{}', origin: 'completion' },
  llm_response_id: 'r',
  ...fields,
})

const error = (id: string): Event => ({
  kind: 'AgentErrorEvent',
  id: `${id}-error`,
  tool_name: 'ls',
  tool_call_id: id,
  error: 'no',
})

describe('X10, erasure', () => {
  it('keeps tree, pairing, views, status and valid requests in a legal log', () => {
    always(fc.tuple(legalLog(), fc.nat()), checkErased, RUNS / 10)
  })

  it('keeps tree, pairing, views, status and valid requests in a hostile log', () => {
    always(fc.tuple(hostileLog(), fc.nat()), checkErased, COSTLY_RUNS)
  })

  it('keeps the batch of a call with reasoning or with a blank thought', () => {
    for (const fields of [
      { reasoning_content: 'why' },
      { responses_reasoning_item: { summary: ['why'] } },
      { thought: [{ text: ' ' }] },
    ])
      checkErased([[call('a', {}), error('a'), call('b', fields), error('b')], 0])
  })

  it('sends an erased message if and only if it sent the original', () => {
    always(anyEvent(), (event) => {
      if (event.kind !== 'MessageEvent') return
      const [before, after] = [event, erasedFact(event) as typeof event].map(renderMessage)
      same('X10', 'whether a request contains the message', after === null, before === null)
    })
  })

  it('adds no summary to the view when it erases a condensation with a blank summary', () => {
    for (const summary of ['', ' \n', '\u001c', '\u0085\u001f', '\ufeff'])
      checkErased([
        [
          {
            kind: 'Condensation',
            id: 'c',
            forgotten_event_ids: [],
            summary,
            summary_offset: 0,
            llm_response_id: 'r',
          },
        ],
        0,
      ])
  })

  it('keeps id, kind, time, parent and source of an event, and none of its content', () => {
    const content = 'unforgettable-words'
    always(fc.oneof(anyEvent(), eventWith(content)), (event) => {
      const after = erasedFact(event)
      const decoded = decodeEvent(after)
      hold('X10', decoded.ok && decoded.warnings.length === 0, `no event: ${JSON.stringify(decoded)}`)
      for (const key of ['id', 'kind', 'timestamp', 'parent_id', 'source'] as const)
        same('X10', key, (after as typeof event)[key], event[key])
      hold(
        'X10',
        !contentIn(after).includes(content),
        `the erased event still contains the text: ${JSON.stringify(after)}`,
      )
      same('X10', 'erased again', erasedFact(after), after)
      const later = { ...after, future: content }
      hold('X10', !JSON.stringify(erasedFact(later)).includes('future'), ERASED)
    })
  })
})
