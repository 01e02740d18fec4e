/**
 * Services over one store are killed anywhere. Every start ends and creates one conversation; accepted
 * messages are appended and read once, in order.
 */

import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { appOf } from '../../src/service/control-plane/app-metadata.ts'
import { isOver, type StoredTask } from '../../src/service/control-plane/start-tasks.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { ConversationRecord } from '../../src/store/contract/conversation-record.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type PooledDatabase, pooledDatabase } from '../postgres/database.ts'
import { recordsIn } from './stored-records.ts'
import { folder, until } from './sandbox-commands.ts'
import { IDS, type Command, command, SCRIPTS } from './control-commands.ts'
import { CALM, serviceOver, type Host, Reader, oldest, watched } from './control-services.ts'

const BASE = '/api/v1/app-conversations'

/** The same id in another notation. */
const otherForm = (id: string): string => id.replaceAll('-', '')

/** A message sent to one conversation. */
interface SentMessage {
  readonly text: string
  /** Null when the client got no response. */
  accepted: boolean | null
}

let database: PooledDatabase
let schemas = 0

beforeAll(async () => {
  database = await pooledDatabase()
})
afterAll(() => database.drop())

const STORES: readonly (readonly [string, () => Store, number])[] = [
  ['memory', () => memoryStore(), 8],
  ['sqlite', () => sqliteStore({ file: ':memory:' }), 3],
  ['postgres', () => postgresStore({ client: database.pool, schema: `control_${(schemas += 1)}` }), 2],
]

const seen = { crashes: 0, lost: 0, messages: 0, created: 0, failed: 0, deleted: 0, refused: 0, resumed: 0 }

it.each(STORES)(
  'over %s, killed services neither lose nor repeat starts and messages',
  async (_, make, numRuns) => {
    const ends: (() => Promise<void> | void)[] = []
    const plan = fc.array(command, { minLength: 10, maxLength: 40 })
    const property = fc.asyncProperty(fc.integer({ min: 2, max: 4 }), plan, async (count, commands) => {
      const location = folder()
      const changed: { readonly id: string; readonly record: StoredTask | null }[] = []
      const real = watched(make(), changed)
      // Runs after failures too, so that the store's pool is closed.
      ends.push(() => real.close(), location.remove)
      const begin = async () => {
        const host = serviceOver(real, location.path, 2)
        await host.service.controlPlane.start()
        host.service.lostRuns.start()
        return host
      }
      const hosts = await Promise.all(Array.from({ length: count }, begin))
      const hostOf = (one: number): Host => {
        const host = hosts[one % count]
        if (host === undefined) throw new Error('unknown service')
        return host
      }
      const readers = new Map(IDS.map((id) => [id, new Reader(id)]))
      const tasks = recordsIn<StoredTask>(real, 'start-tasks')
      const outputs = new Map<string, SentMessage[]>()
      const of = (id: string): SentMessage[] => outputs.get(id) ?? outputs.set(id, []).get(id) ?? []
      const started: { readonly task: string; readonly conversation: string }[] = []
      /** Conversations with a requested deletion: their accepted messages may be gone. */
      const deleted = new Set<string>()
      let texts = 0

      const execute = async (order: Command): Promise<void> => {
        const host = hostOf(order.slot)
        if (order.do === 'crash') return host.dieAfter(order.calls)
        if (order.do === 'hold') return host.holdAfter(order.calls, order.milliseconds)
        if (order.do === 'wait') {
          await new Promise((resolve) => setTimeout(resolve, order.milliseconds))
          return
        }
        if (order.do === 'start' || order.do === 'start in') {
          const isBroken = order.do === 'start in' && order.sandbox < 2
          const id = isBroken ? null : (IDS[order.index] ?? null)
          const text = `first ${(texts += 1)}`
          const boxes = await oldest(host.service)
          const broken = isBroken
            ? (await host.send('POST', '/api/v1/sandboxes?sandbox_spec_id=broken')).body['id']
            : null
          const { status, body } = await host.send('POST', BASE, {
            ...(id !== null && { conversation_id: texts % 2 === 0 ? id : otherForm(id) }),
            ...(order.do === 'start' && order.says && { initial_message: { content: [{ text }] } }),
            ...(order.do === 'start' && order.child && { parent_conversation_id: IDS[0] }),
            ...(order.do === 'start in' && { sandbox_id: broken ?? boxes[order.sandbox]?.id ?? null }),
          })
          if (status !== 200) {
            if (status === 503 && id !== null) of(id).push({ text, accepted: null })
            else expect([409, 422, 503]).toContain(status)
            seen.refused += 1
            return
          }
          const task = (await tasks.all()).get(String(body['id']))
          const conversation = id ?? task?.planned_id ?? null
          if (conversation === null) return
          started.push({ task: String(body['id']), conversation })
          if (order.do === 'start' && order.says) of(conversation).push({ text, accepted: true })
          return
        }
        if (order.do === 'listen') return readers.get(IDS[order.index] ?? '')?.listen(host)
        if (order.do === 'read') {
          const id = IDS[order.index] ?? ''
          const reader = readers.get(id)
          const hasEnded = async (): Promise<boolean> => {
            if (host.isDead()) return true
            await reader?.listen(host)
            // Another start may have paused the sandbox.
            const hasFailed = [...(await tasks.all()).values()].some(
              (task) => task.planned_id === id && task.status === 'ERROR',
            )
            return hasFailed || (reader?.ids.length ?? 1) > 0
          }
          // On a very busy machine the start waits until the faults have ended.
          await until(hasEnded, 10_000).catch(() => undefined)
          return
        }
        if (order.do === 'send') {
          const id = IDS[order.index] ?? 'plain'
          const text = `sent ${(texts += 1)}`
          const body = { content: [{ text }], key: text, run: true }
          const { status } = await host.send('POST', `/api/conversations/${id}/events`, body)
          expect([200, 404, 429, 503]).toContain(status)
          if (status === 200 || status === 503) of(id).push({ text, accepted: status === 200 ? true : null })
          return
        }
        if ('sandbox' in order) {
          const box = (await oldest(host.service))[order.sandbox]?.id ?? 'none'
          const path = `/api/v1/sandboxes/${box}`
          const { status } = await (order.do === 'end'
            ? host.send('DELETE', path)
            : host.send('POST', `${path}/${order.do}`))
          expect([200, 404, 503]).toContain(status)
          return
        }
        const known = started[(order.index + started.length) % Math.max(1, started.length)]
        const id = IDS[order.index] ?? known?.conversation ?? 'none'
        if (order.do === 'patch') {
          const { status } = await host.send('PATCH', `${BASE}/${otherForm(id)}`, {
            title: 'New',
            public: true,
          })
          expect([200, 404, 503]).toContain(status)
        } else if (order.do === 'delete') {
          const { status } = await host.send('DELETE', `${BASE}/${otherForm(id)}`)
          expect([200, 404, 503]).toContain(status)
          if (status === 404) return
          seen.deleted += 1
          deleted.add(id)
          for (const one of of(id)) one.accepted = status === 200 ? false : null
        } else {
          const task = order.byTask ? started.findLast(({ conversation }) => conversation === id) : undefined
          const text = `then ${(texts += 1)}`
          const { status } = await host.send(
            'POST',
            `/api/v1/conversations/${task?.task ?? otherForm(id)}/pending-messages`,
            { content: [{ text }] },
          )
          expect([201, 404, 409, 429, 503]).toContain(status)
          if (status === 201 || status === 503) {
            of(task?.conversation ?? id).push({ text, accepted: status === 201 ? true : null })
          }
        }
      }

      for (const order of commands) {
        await execute(order).catch((error: unknown) => {
          if (!hostOf(order.slot).isDead()) throw error
        })
        for (const [index, host] of hosts.entries()) {
          expect(host.failures).toEqual([])
          if (!host.isDead()) continue
          seen.crashes += 1
          await host.end()
          hosts[index] = await begin()
        }
      }

      // From here there are no faults, and enough capacity.
      await Promise.all(hosts.map((host) => host.end()))
      const last = serviceOver(real, location.path, 1_000, CALM)
      const { sandboxes } = last.service.controlPlane
      await last.service.controlPlane.start()
      last.service.lostRuns.start()
      for (const { id } of await oldest(last.service))
        await last.send('POST', `/api/v1/sandboxes/${id}/resume`)
      const all = await until(async () => {
        const now = [...(await tasks.all()).values()]
        return now.every(isOver) ? now : null
      })
      for (const { id } of await oldest(last.service))
        await last.send('POST', `/api/v1/sandboxes/${id}/resume`)
      const waiting = recordsIn<object>(real, 'pending-messages')
      const records: ConversationRecord[] = []
      records.push(...(await real.listConversations()).items)
      const up = new Set<string>()
      for (const record of records) {
        const { sandbox_id: box } = appOf(record)
        if (box === null || (await sandboxes.state(box)).status === 'RUNNING')
          up.add(record.id).add(otherForm(record.id))
      }
      await until(async () =>
        [...(await waiting.all()).keys()].every(
          (id) => !up.has(id) && records.some((record) => otherForm(record.id) === id),
        ),
      )

      for (const record of records) {
        const creatingTasks = all.filter(({ id }) => id === appOf(record).start_task_id)
        // A deletion without a response may be half done; a client can repeat it.
        if (creatingTasks.length === 0 && deleted.has(record.id)) continue
        expect(creatingTasks.map(({ status, app_conversation_id }) => [status, app_conversation_id])).toEqual(
          [['READY', record.id]],
        )
        expect(record.id).toBe(creatingTasks[0]?.planned_id)
        seen.created += 1
      }
      // Finished tasks never change, and removed tasks never return.
      const history = new Map<string, StoredTask | null>()
      for (const { id, record } of changed) {
        const before = history.get(id)
        if (before === undefined && record === null) continue
        expect(before === null || (before !== undefined && isOver(before) && record !== null)).toBe(false)
        history.set(id, record)
      }
      const existing = new Set(records.map(({ id }) => id))
      for (const task of all) {
        if (task.status === 'ERROR') seen.failed += 1
        else if (!deleted.has(task.planned_id)) expect(existing.has(task.planned_id)).toBe(true)
      }
      for (const { task, conversation } of started) {
        if (!deleted.has(conversation)) expect(all.some(({ id }) => id === task)).toBe(true)
      }
      // A start without a response may have any id.
      for (const { id } of records.filter(({ id }) => up.has(id) && (outputs.has(id) || IDS.includes(id)))) {
        const issued = of(id)
        const failed = started.some(
          ({ task, conversation }) =>
            conversation === id && all.some((one) => one.id === task && one.status === 'ERROR'),
        )
        const conversation = await last.service.controlPlane.lifecycle.engine.open(id)
        const { status, users, agents } = await until(async () => {
          const { header, log } = await conversation.state()
          if (['idle', 'running'].includes(header.status) && issued.length > 0) {
            if ([...log.entries].some(({ event }) => event?.kind === 'MessageEvent')) {
              await last.send('GET', `/api/conversations/${id}`)
              return null
            }
          }
          const messages = [...log.entries].flatMap(({ event }) =>
            event?.kind === 'MessageEvent' ? [event] : [],
          )
          return {
            status: header.status,
            users: messages
              .filter(({ source }) => source === 'user')
              .map(({ llm_message }) => {
                const [part] = llm_message.content ?? []
                return part !== undefined && 'text' in part ? part.text : ''
              }),
            agents: messages.filter(({ source }) => source === 'agent').length,
          }
        })
        // A shutdown pauses a run and a crash leaves it in error; no run stays active.
        expect(['idle', 'finished', 'error', 'paused']).toContain(status)
        expect(new Set(users).size).toBe(users.length)
        expect(agents).toBeLessThanOrEqual(users.length)
        // Pending messages keep their order, and so do sent ones, independently of each other.
        for (const isSent of [true, false]) {
          const order = issued.map(({ text }) => text).filter((text) => text.startsWith('sent') === isSent)
          expect(users.filter((text) => String(text).startsWith('sent') === isSent)).toEqual(
            order.filter((text) => users.includes(text)),
          )
        }
        for (const { text, accepted } of issued) {
          if (accepted === true && !failed) expect(users).toContain(text)
          else if (accepted === false) expect(users).not.toContain(text)
          else seen.lost += 1
        }
        seen.messages += users.length
      }
      for (const { id } of records) {
        const reader = readers.get(id)
        if (reader === undefined || deleted.has(id)) continue
        if (reader.ids.length > 0) seen.resumed += 1
        await reader.listen(last)
        const ids = (await real.read(id)).map((event) => event.id)
        await until(() => reader.ids.length >= ids.length)
        expect(reader.ids).toEqual(ids)
      }
      expect(last.failures).toEqual([])
      await last.end()
    })
    const ended = property.afterEach(async () => {
      for (const end of ends.splice(0)) await end()
    })
    await fc.assert(ended, {
      numRuns,
      endOnFailure: true,
      examples: SCRIPTS.map((commands) => [2, [...commands]]),
    })
  },
)

it('the generated cases contain each kind of fault and outcome', () => {
  for (const [name, count] of Object.entries(seen)) expect([name, count >= 3]).toEqual([name, true])
})
