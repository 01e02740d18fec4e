/** Group C of the inventory: what a copied log shares with its source. */

import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import { reduce } from '../../src/state/reduce.ts'
import { system, user, users } from '../build.ts'
import { entry, fold, ids, logEvents, path, decode, reopen } from './inspect.ts'

describe('group C: copies', () => {
  it('C2 appending to a copy leaves its source unchanged', () => {
    const source = fold(...users('m0', 'm1'))
    const copy = reduce(source, decode(user('m2')))
    expect(ids(copy)).toEqual(['m0', 'm1', 'm2'])
    expect(source.log.entries.length).toBe(2)
    expect(ids(source)).toEqual(['m0', 'm1'])
    expect(ids(reduce(source, decode(user('other'))))).toEqual(['m0', 'm1', 'other'])
    expect(ids(copy)).toEqual(['m0', 'm1', 'm2'])
  })

  it('C3 decoding rejects a tool that contains a function', () => {
    const tool = { kind: 'TerminalTool', description: 'runs', action_type: 'TerminalAction' }
    const live = { ...system('s'), tools: [{ ...tool, executor: () => 'done' }] }
    const decoded = decodeEvent(live)
    expect(decoded.ok ? [] : decoded.issues.map((one) => one.loc)).toEqual([['tools', 0, 'executor']])
    const plain = decode({ ...system('s'), tools: [{ ...tool, executor: null }] })
    expect(plain).toMatchObject({ tools: [{ action_type: 'TerminalAction', executor: null }] })
  })

  it('C10 a stored text is a frozen copy of the input', () => {
    const input = {
      kind: 'MessageEvent',
      id: 'm',
      source: 'user',
      llm_message: { role: 'user', content: [{ text: 'said' }] },
    }
    const state = fold(decode(input))
    for (const part of input.llm_message.content) part.text = 'changed'
    const { event } = entry(state, 'm')
    const stored = event?.kind === 'MessageEvent' ? event.llm_message.content?.[0] : undefined
    expect(stored).toEqual({ text: 'said' })
    expect(() => Object.assign(stored ?? {}, { text: 'changed' })).toThrow(TypeError)
  })

  it('C12 a copy has the same ids and path after writing and reading', () => {
    const copy = reopen(fold(...logEvents(fold(...users('m0', 'm1'), user('m2', 'm2', { parent_id: 'm0' })))))
    expect(logEvents(copy).map((event) => event.id)).toEqual(['m0', 'm1', 'm2'])
    expect(path(copy)).toEqual(['m0', 'm2'])
  })
})
