/** Random operations of users and agents on a conversation. */

import { isDeepStrictEqual } from 'node:util'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { openCallsOf } from '../../src/conversation/decide.ts'
import { hasCode } from '../../src/event/errors.ts'
import type { ActionEvent } from '../../src/event/types.ts'
import type { State } from '../../src/state/state.ts'
import type { LoggedEvent } from '../../src/conversation/logged-event.ts'
import { action, fail, observe, status, user } from '../build.ts'

/** A random integer from 0, below `below`. */
export type Pick = (below: number) => number

/** The resulting events, or the code of an acceptable error. */
export type Outcome = readonly LoggedEvent[] | string

const from = <T>(list: readonly T[], pick: Pick): T | undefined => list[pick(Math.max(1, list.length))]
const some = <T>(list: readonly T[], pick: Pick): T[] => list.filter(() => pick(2) === 1)

const callsOf = (state: State): (ActionEvent & { id: string })[] =>
  [...state.log.entries].flatMap(({ event, id, inTree }) =>
    event?.kind === 'ActionEvent' && inTree && id !== null ? [{ ...event, id }] : [],
  )

type Operation = (conversation: Conversation, state: State, pick: Pick, name: string) => Promise<Outcome>

const OPERATIONS: Readonly<Record<string, Operation>> = {
  send: (conversation) => conversation.sendMessage('go on'),
  sendOnce: (conversation, _, pick) => conversation.sendMessage('once', { key: `k${pick(4)}` }),
  call: (conversation, _, pick, name) => {
    const calls = Array.from({ length: 1 + pick(3) }, (__, i) =>
      action(`${name}.${i}`, { response: `reply-${name}`, call: pick(3) === 0 ? 'c' : `call-${name}.${i}` }),
    )
    return conversation.append(calls)
  },
  appendResult: (conversation, state, pick, name) => {
    const call = from(callsOf(state), pick)
    return conversation.append(
      call === undefined ? user(name) : pick(2) === 0 ? observe(name, call) : fail(name, call),
    )
  },
  repeatResult: async (conversation, state, pick, name) => {
    const call = from(callsOf(state), pick)
    if (call === undefined) return []
    const batch = [user(`${name}.u`), observe(name, call), user(`${name}.v`)]
    const first = await conversation.append(batch)
    const expected = first.filter(({ id }) => batch.some((event) => event.id === id))
    if (!isDeepStrictEqual(await conversation.append(batch), expected))
      throw new Error('a repeated append returned other events')
    return first
  },
  finish: (conversation, _, __, name) => {
    const call = action(`${name}.f`, { tool: 'finish' })
    return conversation.append([call, observe(name, call)])
  },
  wait: (conversation, _, __, name) => conversation.append(status(name, 'waiting_for_confirmation')),
  run: (conversation, _, __, name) => conversation.append(status(name, 'running')),
  appendExpected: (conversation, state, _, name) =>
    conversation.append(user(name), { expected: state.log.entries.length }),
  pause: (conversation) => conversation.pause(),
  resume: (conversation) => conversation.resume(),
  interrupt: (conversation) => conversation.interrupt(),
  approve: (conversation, state, pick) =>
    conversation.approve(some(openCallsOf(state), pick).map(({ id }) => id)),
  reject: (conversation, state, pick) =>
    conversation.reject(pick(3) === 0 ? undefined : some(openCallsOf(state), pick).map(({ id }) => id)),
  navigate: (conversation, state, pick) =>
    conversation.navigate(from([...state.log.entries], pick)?.id ?? null),
  moveToRoot: (conversation) => conversation.navigate(null),
  restart: (conversation) => conversation.restart(),
  edit: (conversation, state, pick) => {
    const messages = [...state.log.entries].filter(({ event }) => event?.kind === 'MessageEvent')
    return conversation.editAndResend(from(messages, pick)?.id ?? 'nothing', 'said otherwise')
  },
  policy: (conversation, _, pick) =>
    conversation.setConfirmationPolicy(
      from([null, { kind: 'AlwaysConfirm' }, { kind: 'NeverConfirm' }], pick) ?? null,
    ),
  recover: async (conversation) => (await conversation.recover()).events,
}

export const OPERATION_NAMES = Object.keys(OPERATIONS)

/** Errors to expect when another writer was faster, or when an operation has no target. */
const EXPECTED_CODES = ['version_conflict', 'unknown_call', 'unknown_event', 'already_running'] as const

/** Performs an operation; `name` is unique. */
export async function performOperation(
  conversation: Conversation,
  operation: string,
  pick: Pick,
  name: string,
): Promise<Outcome> {
  try {
    return await (OPERATIONS[operation] as Operation)(conversation, await conversation.state(), pick, name)
  } catch (error) {
    const code = EXPECTED_CODES.find((each) => hasCode(error, each))
    if (code === undefined) throw error
    return code
  }
}

/** Seeded random numbers (mulberry32). */
export function random(seed: number): Pick {
  let index = seed
  return (below) => {
    index = (index + 0x6d2b79f5) | 0
    let t = Math.imul(index ^ (index >>> 15), 1 | index)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * below)
  }
}
