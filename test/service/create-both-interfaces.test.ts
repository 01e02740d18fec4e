/**
 * Concurrent creates of one UUID at two agent servers and control planes: one wins, the others leave
 * nothing.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { create } from '../../src/service/agent-server/create.ts'
import { createPlane } from '../../src/service/control-plane/control-plane.ts'
import { publicTask, type StartTask } from '../../src/service/control-plane/start-tasks.ts'
import { Runs } from '../../src/service/conversations/runs.ts'
import { Starts } from '../../src/service/conversations/starts.ts'
import { HttpProblem } from '../../src/service/http/problem.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { STORES } from './client.ts'
import { BOX, scheduledStore } from './scheduled-store.ts'

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e'
const PLAIN = ID.replaceAll('-', '')

/** A process with both interfaces, reduced to creating conversations. */
function processOver(store: Store, failures: unknown[]) {
  const engine = createEngine({ store })
  const starts = new Starts(store, BOX)
  const onFailure = (error: unknown): void => void failures.push(error)
  const lifecycle = {
    engine,
    starts,
    runs: new Runs({ store, starts, agent: null, options: {}, maxRuns: 1, leaseTtl: 45_000, onFailure }),
  }
  return { lifecycle, plane: createPlane(lifecycle, onFailure) }
}

type Process = ReturnType<typeof processOver>

/** Returns whether this request created it. */
async function createAtServer({ lifecycle }: Process, conversation_id: string): Promise<boolean> {
  return (await create(lifecycle, { conversation_id, secrets: { TOKEN: 'sk-hush' } })).isNew
}

/** Returns the last task; null if the start was rejected at once. */
async function startAtPlane({ plane }: Process, conversation_id: string): Promise<StartTask | null> {
  try {
    const request = { conversation_id, secrets: { TOKEN: 'sk-hush' } }
    let last: StartTask | null = null
    for await (const task of await plane.tasks.follow(request)) last = publicTask(task, null)
    return last
  } catch (error) {
    expect(error instanceof HttpProblem && error.status).toBe(409)
    return null
  }
}

const createRequest = fc.record({
  form: fc.constantFrom(ID, PLAIN, ID.toUpperCase()),
  index: fc.nat(1),
  api: fc.constantFrom('agent server', 'control plane'),
})

/** Wins of each interface, and accepted starts that lost. */
const seen = { agents: 0, planes: 0, late: 0 }

describe.each(Object.entries(STORES))(
  'concurrent creates through both interfaces over %s',
  (_, makeStore) => {
    it('create one conversation, for one of the requests', async () => {
      const property = fc.asyncProperty(
        fc.scheduler(),
        fc.array(createRequest, { minLength: 2, maxLength: 4 }),
        async (scheduler, all) => {
          const real = makeStore()
          const failures: unknown[] = []
          const processes = [0, 1].map(() => processOver(scheduledStore(real, scheduler), failures))
          let agents = 0
          const tasks: (StartTask | null)[] = []
          const ask = async ({ form, index, api }: (typeof all)[number]): Promise<void> => {
            const process = processes[index]
            if (process === undefined) return
            if (api === 'control plane') tasks.push(await startAtPlane(process, form))
            else if (await createAtServer(process, form)) agents += 1
          }
          await scheduler.waitFor(Promise.all(all.map(ask)))
          // Failed tasks clean up in the background.
          await scheduler.waitFor(Promise.all(processes.map(({ plane }) => plane.close())))
          const ready = tasks.filter((task) => task?.status === 'READY')
          expect(agents + ready.length).toBe(1)
          expect((await real.listConversations()).items.map(({ id }) => id)).toEqual([ID])
          for (const task of ready) expect(task?.app_conversation_id).toBe(PLAIN)
          expect((await real.countItems('planned-conversations')).count).toBe(0)
          expect((await real.countItems('conversation-starts')).count).toBe(1)
          expect(failures).toEqual([])
          seen.agents += agents
          seen.planes += ready.length
          seen.late += tasks.some((task) => task?.status === 'ERROR') ? 1 : 0
          await real.close()
        },
      )
      await fc.assert(property)
    })
  },
)

it('the generated cases contain wins of each interface and late rejections', () => {
  for (const [name, count] of Object.entries(seen)) expect([name, count >= 3]).toEqual([name, true])
})
