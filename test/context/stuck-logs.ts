/** Logs of looping agents, and the pattern found in them. */

import { stuckDetector, type StuckOptions } from '../../src/context/stuck.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import { action, type ActionOptions, agent, fail, observe, user } from '../build.ts'

/** `length` step numbers, starting at `from`. */
export const count = (length: number, from = 0): number[] =>
  Array.from({ length }, (_, index) => index + from)

/** A call and its result. Without options, calls differ only in their ids. */
export function step(name: string, options: ActionOptions = {}, result = 'ok'): Event[] {
  const call = action(`a${name}`, options)
  return [call, observe(`o${name}`, call, result)]
}

export const pairs = (length: number, prefix = '', result = 'ok') =>
  count(length).flatMap((index) => step(`${prefix}${index}`, {}, result))

export function errors(length: number, error = (index: number) => `error ${index}`): Event[] {
  return count(length).flatMap((index) => {
    const call = action(`a${index}`)
    return [call, fail(`e${index}`, call, error(index))]
  })
}

/** A tool result that is an error, with a text that differs for each call. */
export const errorResult = (id: string, call: ActionEvent): Event =>
  observe(id, call, [], {
    observation: {
      kind: 'AnyObservation',
      content: [{ type: 'text', text: `told ${id}` }],
      is_error: true,
    },
  })

export function errorResults(length: number): Event[] {
  return count(length).flatMap((index) => {
    const call = action(`a${index}`)
    return [call, errorResult(`t${index}`, call)]
  })
}

export const messages = (length: number): Event[] => count(length).map((index) => agent(`m${index}`))

export const environment = (id: string, content = id): Event => user(id, content, { source: 'environment' })

export const verdict = (events: readonly Event[], options: StuckOptions = {}) =>
  stuckDetector(options).verdict(replay(events))

export const pattern = (events: readonly Event[], options: StuckOptions = {}) =>
  verdict(events, options)?.pattern ?? null

export const nudge = (events: readonly Event[], options: StuckOptions = {}) =>
  stuckDetector(options).nudge(replay(events))

/** Two alternating steps. */
export const alternating = (length: number): Event[] =>
  count(length).flatMap((index) =>
    step(`${index}`, { tool: index % 2 === 0 ? 'ls' : 'cat' }, `result ${index % 2}`),
  )

/** Four replies, each with a failing call of every tool. */
export const failing = (tools: readonly string[]) =>
  count(4).flatMap((index) => {
    const calls = tools.map((tool, i) => action(`a${index}-${i}`, { tool, response: `r${index}` }))
    return [...calls, ...calls.map((call) => fail(`e-${call.id}`, call))]
  })

export const report = (text: string, source: 'environment' | 'user' | 'agent' = 'environment') =>
  user('n', text, { source })
