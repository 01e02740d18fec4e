import { createEngine } from '../../src/conversation/engine.ts'
import { hasCode } from '../../src/event/errors.ts'
import { isUnknown } from '../../src/service/conversations/conversations.ts'
import type { StoredTask } from '../../src/service/control-plane/start-tasks.ts'
import { createService, type Service } from '../../src/service/index.ts'
import { processSandboxes } from '../../src/service/node/process-sandboxes.ts'
import { scriptedAgent } from './scripted-agent.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { SandboxProvider } from '../../src/service/control-plane/sandbox-provider.ts'
import { wrapStore } from '../conversation/stores.ts'
import { killable } from './killable-store.ts'

const SPECS = [
  { id: 'folder', command: null },
  { id: 'broken', command: ['/bin/false'], health: '/alive' },
] as const

/** Makes folder sandboxes count against the limit, as if a process ran in them. */
const counting = (provider: SandboxProvider): SandboxProvider => ({
  ...provider,
  specs: provider.specs.map((spec) => ({ ...spec, command: spec.command ?? ['something'] })),
})

interface Terms {
  readonly leaseTtl: number
  readonly staleAfter: number
}

/** Short enough that a delayed process loses its leases. */
const HASTY: Terms = { leaseTtl: 100, staleAfter: 30 }
/** Long enough for a busy machine. */
export const CALM: Terms = { leaseTtl: 30_000, staleAfter: 300 }

export const serviceOver = (
  real: Store,
  directory: string,
  limit: number,
  { leaseTtl, staleAfter }: Terms = HASTY,
) => {
  const { store, ...life } = killable(real)
  const failures: unknown[] = []
  const engine = createEngine({ store })
  const service = createService({
    engine,
    agent: scriptedAgent(),
    run: { leaseTtl },
    maxRuns: 2,
    // A process that is delayed beyond its lease reports the lost run.
    onFailure: (error) => void (life.isDead() || hasCode(error, 'lease_lost') || failures.push(error)),
    controlPlane: {
      provider: counting(processSandboxes({ directory, specs: SPECS, killTimeout: 100 })),
      maxSandboxes: limit,
      sandboxTimeout: 2_000,
      staleAfter,
    },
  })
  return {
    ...life,
    service,
    failures,
    send: async (method: string, path: string, body?: object) => {
      const response = await service.fetch(
        new Request(`http://localhost${path}`, {
          method,
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      )
      return { status: response.status, body: (await response.json()) as Record<string, unknown> }
    },
    async end() {
      service.live.close()
      await service.lostRuns.close()
      await service.controlPlane.close()
      await engine.close()
      await service.runs.settle()
    },
  }
}

export type Host = ReturnType<typeof serviceOver>

/** Reads a conversation's live events, resuming at any service. */
export class Reader {
  readonly ids: (string | null)[] = []
  readonly #id: string
  #position = -1
  #leave: () => Promise<void> = async () => undefined

  constructor(id: string) {
    this.#id = id
  }

  /** Leaves the previous stream. Does nothing if the conversation does not exist. */
  async listen({ service, isDead }: Host): Promise<void> {
    await this.#leave()
    const start = {
      after: this.#position,
      after_event_id: null,
      resend_mode: null,
      after_timestamp: null,
      after_delta: null,
    }
    const result = await service.live.connect(this.#id, start).catch((error: unknown) => {
      if (isDead() || isUnknown(error)) return null
      throw error
    })
    if (result === null) return
    const read = async (): Promise<void> => {
      for await (const frame of result.frames) {
        // Ignore frames of a dead process.
        if (isDead()) return
        this.#position = frame.position
        if (frame.type !== 'event') continue
        const { event } = JSON.parse(frame.text('envelope')) as { readonly event: { readonly id: string } }
        this.ids.push(event.id)
      }
    }
    const done = read().catch((error: unknown) => {
      if (!isDead()) throw error
    })
    this.#leave = async () => {
      result.end()
      await done
    }
  }
}

/** Returns a service's sandboxes, oldest first. */
export const oldest = async ({ controlPlane }: Service) =>
  (await controlPlane.sandboxes.list(null, 100)).items.toReversed()

/** Wraps a store and records every change of a start task, in order. */
export const watched = (
  store: Store,
  changed: { readonly id: string; readonly record: StoredTask | null }[],
): Store =>
  wrapStore(store, {
    async changeItems(changes) {
      const items = await store.changeItems(changes)
      for (const { collection, id, put } of changes) {
        if (collection !== 'start-tasks' || put === undefined) continue
        changed.push({ id, record: put === null ? null : (put.body as object as StoredTask) })
      }
      return items
    },
  })
