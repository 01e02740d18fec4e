/**
 * Several engines or processes on one conversation. Appends without an expected version all succeed; with one,
 * exactly one succeeds. Every decision fits the state that it is appended to.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { openCallsOf } from '../../src/conversation/decide.ts'
import { hasCode } from '../../src/event/errors.ts'
import { encodeState } from '../../src/state/read.ts'
import { type LoggedEvent, toLogged } from '../../src/conversation/logged-event.ts'
import { action, observe, status, user } from '../build.ts'
import { checkLog } from './check-log.ts'
import { OPERATION_NAMES, performOperation, random } from './operations.ts'
import { openEngines, openEngine } from './engines.ts'
import { backends } from './backends.ts'
import { logOf } from './stores.ts'

const BACKENDS = backends()
afterAll(() => BACKENDS.remove())

const settled = async <T>(work: Promise<T>): Promise<T | string> => {
  try {
    return await work
  } catch (error) {
    for (const code of ['version_conflict', 'unknown_call'] as const) if (hasCode(error, code)) return code
    throw error
  }
}

const range = (length: number): number[] => Array.from({ length }, (_, i) => i)

describe.each(BACKENDS.names)('two engines over %s', (name) => {
  it('append concurrently to one branch, and no event is lost', async () => {
    const all = await openEngines(await BACKENDS.make(name))
    await Promise.all(
      all.flatMap(({ conversation }, who) =>
        range(20).map((n) => conversation.append([user(`${who}.${n}`), user(`${who}.${n}+`)])),
      ),
    )
    const log = await logOf(all[0].store)
    expect(log.length).toBe(80)
    expect(log.map(({ parentId }) => parentId)).toEqual([null, ...log.slice(0, -1).map(({ id }) => id)])
    for (const who of [0, 1]) {
      const ids = log.flatMap(({ id }) => (id?.startsWith(`${who}.`) === true ? [id] : []))
      expect(ids).toEqual(range(20).flatMap((n) => [`${who}.${n}`, `${who}.${n}+`]))
    }
    for (const { conversation } of all) expect((await conversation.state()).log.entries.length).toBe(80)
    await Promise.all(all.map(({ close }) => close()))
  })

  it('append at the same version: one wins, and the other succeeds after a new read', async () => {
    const all = await openEngines(await BACKENDS.make(name))
    for (const round of range(15)) {
      const outcomes = await Promise.all(
        all.map(({ conversation }, who) =>
          settled(conversation.append(user(`${round}.${who}`), { expected: round * 2 })),
        ),
      )
      expect(outcomes.filter((outcome) => outcome === 'version_conflict').length).toBe(1)
      const loser = all[outcomes.indexOf('version_conflict')]?.conversation
      const { length } = (await loser?.state())?.log.entries ?? {}
      expect(length).toBe(round * 2 + 1)
      await loser?.append(user(`${round}.again`), { expected: round * 2 + 1 })
    }
    await Promise.all(all.map(({ close }) => close()))
  })

  it('approve, reject, pause and resume concurrently, and decide on the latest state', async () => {
    const [one, two] = await openEngines(await BACKENDS.make(name))
    for (const round of range(12)) {
      const ids = [`a${round}`, `b${round}`]
      await one.conversation.append([
        ...ids.map((id) => action(id, { response: `r${round}` })),
        status(`w${round}`, 'waiting_for_confirmation'),
      ])
      const approved = await Promise.all([one, two].map(({ conversation }) => conversation.approve(ids)))
      expect(approved.filter((events) => events.length > 0).length).toBe(1)
      expect((await two.conversation.state()).header.status).toBe('idle')
      await two.conversation.append(status(`x${round}`, 'waiting_for_confirmation'))
      const [, rejections] = await Promise.all([
        settled(one.conversation.approve(ids)),
        two.conversation.reject(ids),
      ])
      expect(
        rejections.filter(({ fact }) => 'kind' in fact && fact.kind === 'UserRejectObservation').length,
      ).toBe(2)
      const { branch, header } = await one.conversation.state()
      expect(branch.pendingCalls).toBeNull()
      expect(header.status).toBe('idle')
      const turns = await Promise.all([
        one.conversation.pause(),
        two.conversation.resume(),
        two.conversation.pause(),
        one.conversation.resume(),
      ])
      const eventCount = turns.flat().length
      expect((await one.conversation.state()).header.status).toBe(eventCount % 2 === 0 ? 'idle' : 'paused')
      await one.conversation.resume()
    }
    checkLog((await logOf(one.store)).map(({ fact }) => fact))
    await one.close()
    await two.close()
  })

  it('attach results to calls on other branches while HEAD moves', async () => {
    const [one, two] = await openEngines(await BACKENDS.make(name))
    const calls = range(12).map((n) => action(`a${n}`))
    await one.conversation.append(user('root'))
    for (const call of calls) {
      await one.conversation.navigate('root')
      await one.conversation.append(call)
    }
    await Promise.all([
      ...calls.map((call) => two.conversation.append(observe(`o-${call.id}`, call))),
      ...range(12).map((n) => one.conversation.navigate(n % 3 === 0 ? 'root' : `a${(n * 7) % 12}`)),
    ])
    const log = await logOf(one.store)
    for (const call of calls) expect(log.find(({ id }) => id === `o-${call.id}`)?.parentId).toBe(call.id)
    const state = checkLog(log.map(({ fact }) => fact))
    // The last move of HEAD is a navigation: late results do not move it.
    expect(['root', ...calls.flatMap(({ id = '' }) => [id, `o-${id}`])]).toContain(state.log.head?.id)
    for (const { conversation } of [one, two])
      expect(encodeState(await conversation.state())).toBe(encodeState(state))
    await one.close()
    await two.close()
  })

  it('perform random operations, and the log stays consistent', async () => {
    const all = await openEngines(await BACKENDS.make(name))
    const outcomes = await Promise.all(
      all.map(async ({ conversation }, who) => {
        const pick = random(who + 1)
        const messages: (readonly LoggedEvent[])[] = []
        for (const n of range(120)) {
          const outcome = await performOperation(
            conversation,
            OPERATION_NAMES[pick(OPERATION_NAMES.length)] as string,
            pick,
            `${who}-${n}`,
          )
          if (typeof outcome !== 'string') messages.push(outcome)
        }
        return messages
      }),
    )
    const log = await logOf(all[0].store)
    const reports = log.map(toLogged)
    for (const event of outcomes.flat(2)) expect(reports[event.seq]).toEqual(event)
    const state = checkLog(log.map(({ fact }) => fact))
    for (const { conversation } of all)
      expect(encodeState(await conversation.state())).toBe(encodeState(state))
    await Promise.all(all.map(({ close }) => close()))
  })
})

describe.each(BACKENDS.names.filter((name) => name !== 'memory'))('three processes over %s', (name) => {
  it('perform random operations, and the log stays consistent', async () => {
    const backend = await BACKENDS.make(name)
    const { store, conversation, close } = await openEngine(backend)
    await conversation.append(user('root'))
    const count = 60
    const output = await Promise.all(
      ['x', 'y', 'z'].map(async (who, seed) => {
        const child = spawn(
          process.execPath,
          [
            join(inject('built'), 'test/racer.js'),
            name,
            backend.location,
            who,
            String(seed + 7),
            String(count),
          ],
          { stdio: ['ignore', 'pipe', 'pipe'] },
        )
        const [out, problem, [code]] = await Promise.all([
          text(child.stdout),
          text(child.stderr),
          once(child, 'close'),
        ])
        expect(code, problem).toBe(0)
        return out
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as [string, string | [number, string][]])
      }),
    )
    const log = await logOf(store)
    const outcomes = output.flat()
    expect(outcomes.length).toBe(3 * count)
    for (const [, events] of outcomes) {
      if (typeof events !== 'string') for (const [seq, id] of events) expect(log[seq]?.id).toBe(id)
    }
    // Conflicts require an expected version.
    expect(
      outcomes.filter(
        ([operation, outcome]) => outcome === 'version_conflict' && operation !== 'appendExpected',
      ),
    ).toEqual([])
    expect(
      outcomes.filter(([operation, outcome]) => operation === 'send' && typeof outcome === 'string'),
    ).toEqual([])
    const state = checkLog(log.map(({ fact }) => fact))
    expect(encodeState(await conversation.state())).toBe(encodeState(state))
    expect(openCallsOf(await conversation.state()).length).toBe(openCallsOf(state).length)
    await close()
  })
})
