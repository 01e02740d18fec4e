/** Arbitrary logs in which an agent loops, with events that could hide a loop or look like one. */

import * as fc from 'fast-check'
import type { Event } from '../../src/event/types.ts'
import {
  action,
  agent,
  condensation,
  fail,
  hook,
  observe,
  pause,
  reject,
  summary,
  system,
  update,
  user,
} from '../build.ts'
import { toldError } from './stuck-logs.ts'

/** How a call ends; `open` has no result. */
type End = 'one' | 'two' | 'error' | 'other error' | 'told error' | 'rejected' | 'open'

interface Call {
  readonly tool: string
  readonly args: string | null
  readonly end: End
}

type Step =
  | { readonly do: 'reply'; readonly calls: readonly Call[]; readonly thought: boolean }
  | { readonly do: 'forget'; readonly count: number; readonly sums: boolean }
  | { readonly do: 'forget user' }
  | {
      readonly do:
        | 'agent'
        | 'user'
        | 'environment'
        | 'nudge'
        | 'pause'
        | 'hook'
        | 'update'
        | 'summary'
        | 'system'
    }

const end = fc.oneof(
  { weight: 4, arbitrary: fc.constant<End>('one') },
  { weight: 2, arbitrary: fc.constant<End>('two') },
  { weight: 4, arbitrary: fc.constantFrom<End>('error', 'other error', 'told error') },
  { weight: 2, arbitrary: fc.constant<End>('rejected') },
  { weight: 1, arbitrary: fc.constant<End>('open') },
)

const call: fc.Arbitrary<Call> = fc.record({
  tool: fc.constantFrom('a', 'a', 'a', 'b'),
  args: fc.constantFrom(null, null, null, '{"x":1,"y":2}', '{"y": 2, "x": 1}', 'no json'),
  end,
})

const reply: fc.Arbitrary<Step> = fc.record({
  do: fc.constant('reply' as const),
  calls: fc.oneof(
    { weight: 5, arbitrary: fc.tuple(call) },
    { weight: 3, arbitrary: fc.array(call, { minLength: 2, maxLength: 3 }) },
  ),
  thought: fc.boolean(),
})

/** Events that change little or nothing. */
const word: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Step>({ do: 'agent' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'user' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'forget user' }) },
  {
    weight: 6,
    arbitrary: fc.constantFrom<Step>(
      { do: 'environment' },
      { do: 'nudge' },
      { do: 'pause' },
      { do: 'hook' },
      { do: 'update' },
      { do: 'summary' },
      { do: 'system' },
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('forget' as const),
      count: fc.integer({ min: 1, max: 6 }),
      sums: fc.boolean(),
    }),
  },
)

/** What every second round exchanges: the order of parallel calls, their results, or their error texts. */
type Turn = 'not' | 'calls' | 'ends' | 'errors'

const OTHER: Partial<Record<End, End>> = {
  error: 'other error',
  'other error': 'told error',
  'told error': 'error',
}

function turned(step: Step, turn: Turn): Step {
  if (step.do !== 'reply' || turn === 'not') return step
  const back = step.calls.toReversed()
  if (turn === 'calls') return { ...step, calls: back }
  const ends = turn === 'ends' ? back.map(({ end }) => end) : step.calls.map(({ end }) => OTHER[end] ?? end)
  return { ...step, calls: step.calls.map((call, index) => ({ ...call, end: ends[index] ?? call.end })) }
}

/** Repeated steps, some rounds followed by another event. */
const circle: fc.Arbitrary<readonly Step[]> = fc
  .record({
    steps: fc.oneof(fc.tuple(reply), fc.tuple(reply, reply), fc.constant<Step[]>([{ do: 'agent' }])),
    times: fc.integer({ min: 1, max: 6 }),
    words: fc.array(fc.option(word, { nil: null, freq: 3 }), { maxLength: 4 }),
    turn: fc.constantFrom<Turn>('not', 'not', 'calls', 'ends', 'errors'),
  })
  .map(({ steps, times, words, turn }) =>
    Array.from({ length: times }, (_, round) => [
      ...steps.map((step) => (round % 2 === 0 ? step : turned(step, turn))),
      ...(words[round] ? [words[round]] : []),
    ]).flat(),
  )

/** Logs of up to about forty events with unique ids. */
export const loopyLog = (): fc.Arbitrary<readonly Event[]> =>
  fc.array(circle, { minLength: 1, maxLength: 4 }).map((circles) => write(circles.flat()))

function write(steps: readonly Step[]): Event[] {
  const events: Event[] = []
  const next = (): string => `e${events.length}`
  for (const step of steps) {
    if (step.do === 'reply') writeReply(events, step.calls, step.thought)
    else if (step.do === 'forget') {
      const ids = events.slice(-8, -8 + step.count).map(({ id }) => id ?? '')
      events.push(step.sums ? condensation(next(), ids, 'So far.', 0) : condensation(next(), ids))
    } else if (step.do === 'forget user') {
      const last = events.findLast((event) => event.kind === 'MessageEvent' && event.source === 'user')
      if (last !== undefined) events.push(condensation(next(), [last.id ?? '']))
    } else events.push(writeWord(step.do, next()))
  }
  return events
}

function writeWord(what: Exclude<Step['do'], 'reply' | 'forget' | 'forget user'>, id: string): Event {
  switch (what) {
    case 'agent':
      return agent(id)
    case 'user':
      return user(id)
    case 'environment':
      return user(id, id, { source: 'environment' })
    case 'nudge':
      return user(id, '[Repeated error] Stop it.', { source: 'environment' })
    case 'pause':
      return pause(id)
    case 'hook':
      return hook(id, 'PostToolUse')
    case 'update':
      return update(id, 'stats', {})
    case 'summary':
      return summary(id)
    case 'system':
      return system(id)
  }
}

/** Writes the calls of a reply, then their results. */
function writeReply(events: Event[], calls: readonly Call[], thought: boolean): void {
  const response = `r${events.length}`
  const made = calls.map(({ tool, args, end }) => {
    const id = `e${events.length}`
    const event = action(id, {
      tool,
      response,
      ...(thought ? { thought: id } : {}),
      ...(args === null ? { action: { kind: 'AnyAction', tool } } : { action: null, args }),
    })
    events.push(event)
    return { event, end }
  })
  for (const { event, end } of made) {
    const id = `e${events.length}`
    if (end === 'rejected') events.push(reject(id, event, { rejection_reason: id }))
    else if (end === 'error' || end === 'other error') events.push(fail(id, event, end))
    else if (end === 'told error') events.push(toldError(id, event))
    else if (end !== 'open') events.push(observe(id, event, end))
  }
}
