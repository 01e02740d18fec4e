import { expect } from 'vitest'
import { scriptedAgent } from './scripted-agent.ts'
import type { ServiceOptions } from '../../src/service/index.ts'
import { processSandboxes, type ProcessSandboxesOptions } from '../../src/service/node/process-sandboxes.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type Answer, type Client, clientOver } from './client.ts'
import { folder, processesIn, until } from './sandbox-commands.ts'

export const BASE = '/api/v1/app-conversations'
export const SANDBOXES = '/api/v1/sandboxes'
export const ID = '0f8fad5bd9cb469fa16570867728950e'
export const STORED = '0f8fad5b-d9cb-469f-a165-70867728950e'

export interface Task {
  readonly id: string
  readonly status: string
  readonly detail: string | null
  readonly app_conversation_id: string | null
  readonly sandbox_id: string | null
  readonly agent_server_url: string | null
  readonly request: unknown
}
export interface App {
  readonly id: string
  readonly title: string | null
  readonly public: boolean
  readonly sandbox_id: string | null
  readonly sandbox_status: string
  readonly execution_status: string | null
  readonly sub_conversation_ids: readonly string[]
  readonly parent_conversation_id: string | null
  readonly [key: string]: unknown
}
export interface Page<T> {
  readonly items: readonly T[]
  readonly next_page_id: string | null
}
export interface Sandbox {
  readonly id: string
  readonly status: string
  readonly status_detail: string | null
}

/** The client of the service that was started last. */
export let client: Client
/** Called by `endAll`, in reverse order. */
export const ends: (() => Promise<void> | void)[] = []

/** Starts a service, with sandboxes if specs are passed. */
export async function begin(
  store: Store = memoryStore(),
  specs?: Partial<ProcessSandboxesOptions> & { max?: number },
  options: Partial<ServiceOptions> = {},
): Promise<Client> {
  const { max: limit, ...rest } = specs ?? {}
  const path = specs === undefined ? null : folder()
  const provider =
    path === null
      ? null
      : processSandboxes({ directory: path.path, killTimeout: 200, healthInterval: 50, ...rest })
  client = await clientOver(store, {
    agent: scriptedAgent(),
    ...options,
    controlPlane: {
      ...(provider !== null && { provider }),
      ...(limit !== undefined && { maxSandboxes: limit }),
      sandboxTimeout: 300_000,
    },
  })
  const { service, engine } = client
  await service.controlPlane.start()
  ends.push(async () => {
    await service.controlPlane.close()
    await engine.close()
    await service.runs.settle()
    if (path !== null) {
      expect(processesIn(path.path)).toEqual([])
      path.remove()
    }
  })
  return client
}

export async function endAll(): Promise<void> {
  for (const end of ends.splice(0).toReversed()) await end()
}

export const say = (text: string): object => ({ role: 'user', content: [{ type: 'text', text }] })
export const update = (key: string) =>
  ({ kind: 'ConversationStateUpdateEvent', source: 'environment', key, value: 1 }) as const
export const send = (
  method: string,
  path: string,
  body?: unknown,
): Promise<Answer<Record<string, unknown>>> =>
  client.send(path, { method, ...(body !== undefined && { body: JSON.stringify(body) }) })

export const task = async (id: string): Promise<Task> =>
  (await client.get<(Task | null)[]>(`${BASE}/start-tasks`, { ids: [id] })).body[0] as Task

/** Starts a conversation and returns the finished task. */
export async function start(body: object = {}): Promise<Task> {
  const { body: begun, status } = await client.post<Task>(BASE, body)
  expect([status, begun.status, begun.app_conversation_id]).toEqual([200, 'WORKING', null])
  return until(async () => {
    const now = await task(begun.id)
    return now.status === 'READY' || now.status === 'ERROR' ? now : null
  })
}

export const app = async (id: string): Promise<App | null> =>
  (await client.get<(App | null)[]>(BASE, { ids: [id] })).body[0] ?? null

/** Path of a conversation's pending messages. */
export const path = (name: string): string => `/api/v1/conversations/${name}/pending-messages`

/** Returns the user's messages. */
export const output = async (id: string): Promise<string[]> => {
  const { items } = (
    await client.get<Page<{ source: string; llm_message: { content: { text: string }[] } }>>(
      `/api/v1/conversation/${id}/events/search`,
      { kind__eq: 'MessageEvent' },
    )
  ).body
  return items
    .filter(({ source }) => source === 'user')
    .map(({ llm_message }) => llm_message.content[0]?.text ?? '')
}
