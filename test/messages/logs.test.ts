/** Recorded logs, if present next to the repository: valid requests at every fiftieth event and at the end. */

import { describe, expect, it } from 'vitest'
import { loadLine } from '../../src/event/load.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { reduce } from '../../src/state/reduce.ts'
import { initialState, type State } from '../../src/state/state.ts'
import { linesOf, recordedLogs } from '../recorded.ts'
import { GRAMMARS, type GrammarName } from './grammars.ts'

const logs = recordedLogs()
if (logs.length === 0) console.warn('the folder ../shared/logs is absent: no recorded log is converted')

function check(state: State): number {
  const messages = toMessages(state)
  const closed = toMessages(state, { pending: { close: 'interrupted' } })
  for (const list of [messages, closed]) {
    if (list.length === 0) continue
    for (const name of Object.keys(GRAMMARS) as GrammarName[]) {
      const { write, validate } = GRAMMARS[name]
      expect(validate(write(list)), name).toEqual([])
    }
  }
  return messages.length
}

describe.skipIf(logs.length === 0)('recorded logs', () => {
  it.each(logs)('every grammar writes valid requests for $file', (log) => {
    let state = initialState()
    for (const [index, line] of linesOf(log).entries()) {
      state = reduce(state, loadLine(line).fact)
      if (index % 50 === 49) check(state)
    }
    expect(check(state)).toBeGreaterThan(0)
    const results = toMessages(state).filter(({ role }) => role === 'tool')
    const empty = results.filter(({ content }) => content.length === 0)
    expect(empty).toEqual([])
  })
})
