/**
 * Drives our service with arbitrary commands and models: in every grammar, over memory or SQLite, stopped
 * and killed.
 */

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { rollingCondenser } from '../../src/context/condenser/rolling.ts'
import { createService } from '../../src/service/index.ts'
import { anthropicStep, openaiChatStep, openaiResponsesStep, type StepTool } from '../../src/steps/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { type DriveCase, type DrivenServer, driveServer } from '../../src/testing/drive/drive-server.ts'
import type { ServerClientOptions } from '../../src/testing/server/client.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import { fakeProvider, type FakeProvider } from '../../src/testing/provider/provider.ts'
import { project, ROOT } from '../pages.ts'
import { RUNS } from '../../properties/run.ts'
import { killable } from '../service/killable-store.ts'

type MakeStep = (provider: FakeProvider, tools: readonly StepTool[]) => Step

const clientOptions = { apiKey: 'none', maxRetries: 0 }
const model = 'scripted'

const STEPS: readonly (readonly [string, MakeStep])[] = [
  [
    'Anthropic Messages',
    ({ fetch }, tools) =>
      anthropicStep({
        client: new Anthropic({ ...clientOptions, fetch }),
        model,
        max_tokens: 99,
        tools,
        system: 'Be brief.',
      }),
  ],
  [
    'OpenAI Chat Completions',
    ({ fetch }, tools) => openaiChatStep({ client: new OpenAI({ ...clientOptions, fetch }), model, tools }),
  ],
  [
    'OpenAI Responses',
    ({ fetch }, tools) =>
      openaiResponsesStep({ client: new OpenAI({ ...clientOptions, fetch }), model, tools }),
  ],
]

const STORES: readonly (readonly [string, (clock: () => bigint) => Store])[] = [
  ['memory', (clock) => memoryStore({ clock })],
  ['SQLite', (clock) => sqliteStore({ file: ':memory:', clock })],
]

/** Microseconds by which the clock advances when a process dies: longer than its leases. */
const JUMP = 60_000_000n

/** Our service in this process. Killing it disables its store and lets its leases expire. */
async function start(
  one: DriveCase,
  make: (clock: () => bigint) => Store,
  makeStep: MakeStep,
): Promise<DrivenServer> {
  let passed = 0n
  const clock = (): bigint => BigInt(Date.now()) * 1_000n + passed
  const real = make(clock)
  const provider = fakeProvider(one.model)
  const failures: unknown[] = []
  const step = makeStep(provider, [one.tool])
  const begin = async () => {
    const { store, dieAfter, isDead } = killable(real)
    const engine = createEngine({ store, clock })
    const condenser = rollingCondenser({
      maxEvents: 40,
      retries: 0,
      summarise: async () => 'what was said before',
    })
    const service = createService({
      engine,
      agent: () => step,
      run: { condenser },
      onFailure: (error) => void (isDead() || failures.push(error)),
    })
    return { engine, service, dieAfter }
  }
  let running = await begin()
  const end = async (): Promise<void> => {
    await running.engine.close()
    await running.service.runs.settle()
    await running.service.live.close()
  }
  const address = () => ({ url: 'http://localhost', fetch: running.service.fetch })
  return {
    ...address(),
    provider,
    async restart(how) {
      if (how === 'stop') await end()
      else {
        running.dieAfter(0)
        passed += JUMP
        void running.engine.close().catch(() => undefined)
      }
      running = await begin()
      await running.service.lostRuns.check()
      return address()
    },
    async close() {
      await end()
      await real.close()
      expect(failures).toEqual([])
    },
  }
}

const { folder, write, remove } = project()
afterAll(remove)

it('examples/drive-server.ts drives the service without a broken law', async ({ signal }) => {
  const file = write('drive.ts', readFileSync(join(ROOT, 'examples/drive-server.ts'), 'utf8'))
  const env = { ...process.env, RUNS: '3' }
  const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: folder, env, signal })
  expect(stdout).toBe('3 cases, and every law held.\n')
})

const [, MEMORY] = STORES[0] as (typeof STORES)[number]
const [, ANTHROPIC] = STEPS[0] as (typeof STEPS)[number]

/** A fault between a service and its users. */
type Change = (request: Request, pass: () => Promise<Response>) => Promise<Response>

const withChange = (
  { fetch = globalThis.fetch, ...address }: ServerClientOptions,
  change: Change,
): ServerClientOptions => ({ ...address, fetch: (request) => change(request, async () => fetch(request)) })

/** The service with a fault. */
const startWithFault =
  (change: Change) =>
  async (one: DriveCase): Promise<DrivenServer> => {
    const { restart, ...server } = await start(one, MEMORY, ANTHROPIC)
    return {
      ...server,
      ...withChange(server, change),
      restart: async (how) => withChange((await restart?.(how)) ?? server, change),
    }
  }

/** Acknowledges requests to paths with this ending, but does nothing. */
const acknowledgeOnly = (end: string, body: object) =>
  startWithFault(async ({ url, method }, pass) =>
    method === 'POST' && new URL(url).pathname.endsWith(end) ? Response.json(body) : pass(),
  )

const FAULTS: readonly (readonly [law: string, name: string, (one: DriveCase) => Promise<DrivenServer>])[] = [
  ['W4', 'an acknowledged message is lost', acknowledgeOnly('/events', { success: true, event_id: 'e' })],
  ['I3', 'an acknowledged pause is lost', acknowledgeOnly('/pause', { success: true })],
  ['T2', 'a navigation does not move HEAD', acknowledgeOnly('/navigate', {})],
  [
    'B1',
    'a page contains its first event twice',
    startWithFault(async ({ url }, pass) => {
      const response = await pass()
      if (!url.includes('page_id=')) return response
      const page = (await response.json()) as { readonly items: readonly object[] }
      return Response.json({ ...page, items: [...page.items.slice(0, 1), ...page.items] })
    }),
  ],
  [
    'W1',
    'a conflict is reported as a server error',
    startWithFault(async (_, pass) => {
      const response = await pass()
      return response.status === 409 ? Response.json({ detail: 'Sorry.' }, { status: 500 }) : response
    }),
  ],
  [
    'P6',
    'a call is executed twice',
    (one) => {
      const execute = (args: JsonObject): string => one.tool.execute(args) && one.tool.execute(args)
      return start({ ...one, tool: { ...one.tool, execute } }, MEMORY, ANTHROPIC)
    },
  ],
  [
    'M12',
    'the system prompt changes with each request',
    (one) =>
      start(one, MEMORY, (provider, tools) => {
        let count = 0
        const fetch: FakeProvider['fetch'] = (input, init) => {
          const body = JSON.parse(String(init?.body)) as { readonly system: readonly object[] }
          const system = [...body.system, { type: 'text', text: `It is ${(count += 1)}.` }]
          return provider.fetch(input, { ...init, body: JSON.stringify({ ...body, system }) })
        }
        return ANTHROPIC({ ...provider, fetch }, tools)
      }),
  ],
]

it.each(FAULTS)('`driveServer` reports law %s if %s', async (law, _, start) => {
  const result = await driveServer({ start, numRuns: 200, shrink: false, seed: 5 }).catch(String)
  expect(result).toContain(`Broken law ${law}`)
})

// Each grammar over one store only: grammar and store are independent.
it.each(
  STEPS.map(
    ([name, step], index) => [name, ...(STORES[index % 2] as (typeof STORES)[number]), step] as const,
  ),
)('every law holds for %s over %s', async (_, __, make, step) => {
  await driveServer({
    start: (one) => start(one, make, step),
    numRuns: Math.ceil(RUNS / 40),
  })
})
