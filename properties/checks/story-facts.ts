import { replyOf } from '../../src/event/reply.ts'
import type { Event } from '../../src/event/types.ts'
import { replay } from '../../src/state/reduce.ts'
import type { Checkpoint as Entry, State } from '../../src/state/state.ts'
import type { Begin, Story } from '../execution/story.ts'

export const asks = ({ begins }: Story): Begin[] => begins.filter(({ executes }) => executes.length === 0)

export const executions = ({ begins }: Story): Begin[] => begins.filter(({ executes }) => executes.length > 0)

export const lengthOf = ({ log }: State): number => log.entries.length

export const entries = ({ log }: State): Entry[] => [...log.entries]

export function yielder(story: Story, { id, event }: Entry): Begin | undefined {
  const streamed = event !== null && isCutOff(event) ? / (\d+), so far/.exec(JSON.stringify(event)) : null
  const number = (streamed ?? /^(\d+)\.\w+$/.exec(id ?? ''))?.[1]
  return number === undefined ? undefined : story.begins[Number(number) - 1]
}

export const isCutOff = (event: Event): boolean => replyOf(event)?.interrupted === true

export const headerBefore = (now: State, seq: number): State['header'] =>
  now.log.entries.get(seq - 1)?.header ?? replay([]).header

export const updates = (now: State, key: string): { readonly seq: number; readonly value: unknown }[] =>
  entries(now).flatMap(({ seq, event }) =>
    event?.kind === 'ConversationStateUpdateEvent' && event.key === key ? [{ seq, value: event.value }] : [],
  )

export const names = (value: unknown, id: string): boolean => Array.isArray(value) && value.includes(id)
