/** Every request that starts a run, over a store that can fail or whose process can die. */

import { vi } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import { sendFrameMessage } from '../../src/service/live/client-frames.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { createService, type ServiceOptions } from '../../src/service/service.ts'
import type { Store } from '../../src/store/contract/store.ts'

export const BASE = '/api/conversations'

/** Wraps a store: counts its changes, and can make calls fail. */
function watched(store: Store, isDead: () => boolean) {
  const changes: string[] = []
  const away = new Set<string>()
  const proxy = new Proxy(store, {
    get(target, name: string) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...input: unknown[]): unknown => {
        if (/^(append|create|update|delete|change|acquire|release|save|set)/.test(name)) changes.push(name)
        if (isDead()) throw new ColloquyError('store_closed', 'The process is dead.', {})
        if (away.has(name)) return Promise.reject(new ColloquyError('store_unavailable', 'It is away.', {}))
        return value.apply(target, input)
      }
    },
  })
  return { store: proxy, changes, away }
}

export function serviceOver(input: Store, options: Partial<ServiceOptions> = {}) {
  let dead = false
  const { store, changes, away } = watched(input, () => dead)
  const engine = createEngine({ store })
  const failures: unknown[] = []
  const service = createService({
    engine,
    agent: scriptedAgent(),
    onFailure: (error) => failures.push(error),
    ...options,
  })
  return {
    engine,
    service,
    changes,
    away,
    failures,
    async post(path: string, body: object = {}, signal: AbortSignal | null = null): Promise<number> {
      const init = { method: 'POST', body: JSON.stringify(body), signal }
      const response = await service.fetch(new Request(`http://localhost${path}`, init))
      await response.text()
      return response.status
    },
    /** Acts like a killed process: later calls do not reach the store, and leases stay. */
    kill: () => void (dead = true),
    /** Acts like a process that shuts down. */
    async end(): Promise<void> {
      await engine.close()
      await service.runs.settle()
    },
  }
}

export type RunFixture = ReturnType<typeof serviceOver>

export const text = { content: [{ type: 'text', text: 'Hi' }] }

/** A way to request a run: prepares the conversation, then returns the request. */
type SendRequest = (fixture: RunFixture, id: string) => Promise<number>
type RunRequestCase = readonly [
  name: string,
  prepare: (fixture: RunFixture, id: string) => Promise<SendRequest>,
]

const CALL = { tool: 'echo', arguments: { text: 'a' } }

export async function idle({ engine }: RunFixture, id: string): Promise<void> {
  await (await engine.create({ id })).sendMessage('Hi')
}

/** Waits for confirmation of `count` calls and returns their ids. */
export async function waiting(fixture: RunFixture, id: string, count = 1): Promise<string[]> {
  const conversation = await fixture.engine.create({ id })
  await conversation.setConfirmationPolicy({ kind: 'AlwaysConfirm' })
  await conversation.sendMessage('Hi')
  await conversation.run(scriptedAgent([{ calls: Array.from({ length: count }, () => CALL) }])())
  const { log } = await conversation.state()
  return [...log.entries].flatMap(({ id, event }) => (event?.kind === 'ActionEvent' ? [String(id)] : []))
}

const posts =
  (suffix: string, body: object = {}): SendRequest =>
  ({ post }, id) =>
    post(`${BASE}/${id}${suffix}`, body)

export const RUN_REQUESTS: readonly RunRequestCase[] = [
  [
    'start_conversation',
    async () =>
      ({ post }, id) =>
        post(BASE, { conversation_id: id, initial_message: text, secrets: { token: 'x' } }),
  ],
  [
    'start_conversation',
    async (fixture, id) => {
      // Its first process died before the start.
      await fixture.engine.create({ id, metadata: { begins: true } })
      return ({ post }) => post(BASE, { conversation_id: id, initial_message: text })
    },
  ],
  [
    'send_message',
    async (fixture, id) => {
      await idle(fixture, id)
      return posts('/events', { ...text, run: true })
    },
  ],
  [
    'send_message_to_app_conversation_api_v1_app_conversations__conversation_id__send_message_post',
    async (fixture, id) => {
      await idle(fixture, id)
      return ({ post }) => post(`/api/v1/app-conversations/${id}/send-message`, text)
    },
  ],
  [
    'run_conversation',
    async (fixture, id) => {
      await idle(fixture, id)
      return posts('/run')
    },
  ],
  [
    'run_conversation',
    async (fixture, id) => {
      await waiting(fixture, id)
      return posts('/run')
    },
  ],
  [
    'respond_to_confirmation',
    async (fixture, id) => {
      await waiting(fixture, id)
      return posts('/events/respond_to_confirmation', { accept: true })
    },
  ],
  [
    'respond_to_confirmation',
    async (fixture, id) => {
      const calls = await waiting(fixture, id)
      // The process that accepted the approval died before the run.
      await (await fixture.engine.open(id)).approve(calls)
      return posts('/events/respond_to_confirmation', { accept: true })
    },
  ],
  [
    'approve_actions',
    async (fixture, id) => {
      const calls = await waiting(fixture, id)
      return posts('/events/approve', { action_ids: calls })
    },
  ],
  [
    'approve_actions',
    async (fixture, id) => {
      const calls = await waiting(fixture, id)
      await (await fixture.engine.open(id)).approve(calls)
      return posts('/events/approve', { action_ids: calls })
    },
  ],
  [
    'ask_agent',
    async (fixture, id) => {
      await idle(fixture, id)
      return posts('/ask_agent', { question: 'How far are you?' })
    },
  ],
  // A message over a socket, which is not an operation.
  [
    'say',
    async (fixture, id) => {
      await idle(fixture, id)
      return async ({ service, engine }) => {
        const { lifecycle } = service.live
        try {
          await sendFrameMessage(lifecycle, await engine.open(id), JSON.stringify({ role: 'user', ...text }))
          return 200
        } catch (error) {
          return (error as { readonly status: number }).status
        }
      }
    },
  ],
]

/** Awaits work while fake timers advance; returns the elapsed milliseconds too. */
export async function virtually<T>(work: Promise<T>): Promise<{ readonly value: T; readonly took: number }> {
  const from = Date.now()
  const state = { isOver: false }
  const end = (): void => void (state.isOver = true)
  work.then(end, end)
  while (!state.isOver) {
    for (let turn = 0; turn < 20 && !state.isOver; turn += 1) await new Promise((go) => setImmediate(go))
    if (Date.now() - from > 600_000) throw new Error('It waits without a bound.')
    if (!state.isOver) await vi.advanceTimersByTimeAsync(100)
  }
  return { value: await work, took: Date.now() - from }
}
