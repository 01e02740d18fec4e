/** Arbitrary logs in which an agent loops, with events that could hide or imitate a loop. */

import * as fc from 'fast-check'
import type { Content } from '../../src/event/shapes.ts'
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
import { errorResult } from './stuck-logs.ts'

/** How a call ends; `open` has no result. */
type End = 'one' | 'two' | 'error' | 'other error' | 'error result' | 'rejected' | 'open'

interface Call {
  readonly tool: string
  readonly args: string | null
  readonly end: End
}

type Step =
  | { readonly do: 'reply'; readonly calls: readonly Call[]; readonly thought: boolean }
  | { readonly do: 'forget'; readonly count: number; readonly withSummary: boolean }
  | { readonly do: 'forget user' }
  | {
      readonly do:
        | 'agent'
        | 'failed reply'
        | 'empty failed reply'
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
  { weight: 4, arbitrary: fc.constantFrom<End>('error', 'other error', 'error result') },
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

/** Steps between the replies. */
const otherStep: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Step>({ do: 'agent' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'user' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'forget user' }) },
  {
    weight: 6,
    arbitrary: fc.constantFrom<Step>(
      { do: 'environment' },
      { do: 'failed reply' },
      { do: 'empty failed reply' },
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
      withSummary: fc.boolean(),
    }),
  },
)

/** What every second round swaps: the order of parallel calls, their results, or their error texts. */
type Swap = 'nothing' | 'calls' | 'ends' | 'errors'

const OTHER: Partial<Record<End, End>> = {
  error: 'other error',
  'other error': 'error result',
  'error result': 'error',
}

function swapped(step: Step, swap: Swap): Step {
  if (step.do !== 'reply' || swap === 'nothing') return step
  const back = step.calls.toReversed()
  if (swap === 'calls') return { ...step, calls: back }
  const ends = swap === 'ends' ? back.map(({ end }) => end) : step.calls.map(({ end }) => OTHER[end] ?? end)
  return { ...step, calls: step.calls.map((call, index) => ({ ...call, end: ends[index] ?? call.end })) }
}

/** Repeated steps, some rounds followed by another event. */
const loop: fc.Arbitrary<readonly Step[]> = fc
  .record({
    steps: fc.oneof(
      fc.tuple(reply),
      fc.tuple(reply, reply),
      fc.constantFrom<Step[]>([{ do: 'agent' }], [{ do: 'empty failed reply' }]),
    ),
    times: fc.integer({ min: 1, max: 6 }),
    between: fc.array(fc.option(otherStep, { nil: null, freq: 3 }), { maxLength: 4 }),
    swap: fc.constantFrom<Swap>('nothing', 'nothing', 'calls', 'ends', 'errors'),
  })
  .map(({ steps, times, between, swap }) =>
    Array.from({ length: times }, (_, round) => [
      ...steps.map((step) => (round % 2 === 0 ? step : swapped(step, swap))),
      ...(between[round] ? [between[round]] : []),
    ]).flat(),
  )

/** Logs of up to about forty events with unique ids. */
export const loopyLog = (): fc.Arbitrary<readonly Event[]> =>
  fc.array(loop, { minLength: 1, maxLength: 4 }).map((loops) => write(loops.flat()))

function write(steps: readonly Step[]): Event[] {
  const events: Event[] = []
  const next = (): string => `e${events.length}`
  for (const step of steps) {
    if (step.do === 'reply') writeReply(events, step.calls, step.thought)
    else if (step.do === 'forget') {
      const ids = events.slice(-8, -8 + step.count).map(({ id }) => id ?? '')
      events.push(step.withSummary ? condensation(next(), ids, 'So far.', 0) : condensation(next(), ids))
    } else if (step.do === 'forget user') {
      const last = events.findLast((event) => event.kind === 'MessageEvent' && event.source === 'user')
      if (last !== undefined) events.push(condensation(next(), [last.id ?? '']))
    } else events.push(writeEvent(step.do, next()))
  }
  return events
}

function writeEvent(what: Exclude<Step['do'], 'reply' | 'forget' | 'forget user'>, id: string): Event {
  switch (what) {
    case 'agent':
      return agent(id)
    case 'failed reply':
      return failedReply(id, [{ type: 'text', text: id }])
    case 'empty failed reply':
      return failedReply(id, [])
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

function failedReply(id: string, content: readonly Content[]): Event {
  const reply = { outcome: 'failed' as const, tokens: [9, 1] as const }
  return { ...agent(id), llm_message: { role: 'assistant', content: [...content], reply } } as Event
}

/** Writes the calls of a reply, then their results. */
function writeReply(events: Event[], calls: readonly Call[], thought: boolean): void {
  const response = `r${events.length}`
  const callEvents = calls.map(({ tool, args, end }) => {
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
  for (const { event, end } of callEvents) {
    const id = `e${events.length}`
    if (end === 'rejected') events.push(reject(id, event, { rejection_reason: id }))
    else if (end === 'error' || end === 'other error') events.push(fail(id, event, end))
    else if (end === 'error result') events.push(errorResult(id, event))
    else if (end !== 'open') events.push(observe(id, event, end))
  }
}
