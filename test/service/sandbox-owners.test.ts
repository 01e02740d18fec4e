import { beforeEach, expect, it } from 'vitest'
import {
  NO_STATE,
  type SandboxProvider,
  type SandboxStatus,
} from '../../src/service/control-plane/sandbox-provider.ts'
import { Sandboxes } from '../../src/service/control-plane/sandboxes.ts'
import { memoryStore } from '../../src/store/memory/store.ts'

/** Each sandbox's owner and status; every process knows the status. */
const all = new Map<string, { readonly owner: string; status: SandboxStatus }>()

function providerOf(owner: string): SandboxProvider {
  const set = async (id: string, status: SandboxStatus): Promise<void> => {
    const one = all.get(id) ?? { owner, status }
    if (one.owner === owner) all.set(id, { owner, status })
  }
  const spec = { id: 's', command: ['x'], created_at: '', initial_env: {}, working_dir: '' }
  return {
    specs: [spec],
    start: (id) => set(id, 'RUNNING'),
    resume: (id) => set(id, 'RUNNING'),
    pause: (id) => set(id, 'PAUSED'),
    state: async (id) => ({ ...NO_STATE, status: all.get(id)?.status ?? 'MISSING' }),
    delete: async (id) => void all.delete(id),
    close: async () => undefined,
  }
}

let local: Sandboxes
let remote: Sandboxes
const statusOf = (id: string): SandboxStatus | undefined => all.get(id)?.status

beforeEach(async () => {
  all.clear()
  const store = memoryStore()
  local = new Sandboxes(store, { provider: providerOf('local'), limit: 1 })
  remote = new Sandboxes(store, { provider: providerOf('remote'), limit: 1 })
  await remote.start(null, 'a')
})

it('the owner applies a pause or resume of another process at its next sweep', async () => {
  await local.pause('a')
  expect([statusOf('a'), await local.sweep(), await remote.sweep(), statusOf('a')]).toEqual([
    'RUNNING',
    [],
    [],
    'PAUSED',
  ])
  await local.resume('a')
  expect([statusOf('a'), await local.sweep(), await remote.sweep(), statusOf('a')]).toEqual([
    'PAUSED',
    [],
    ['a'],
    'RUNNING',
  ])
  expect([await remote.sweep(), statusOf('a')]).toEqual([[], 'RUNNING'])
})

it('the owner applies only the last of a pause and a resume', async () => {
  await local.pause('a')
  await local.resume('a')
  expect([await remote.sweep(), statusOf('a')]).toEqual([[], 'RUNNING'])
})

it('a start at the limit pauses the sandbox of another process', async () => {
  await local.start(null, 'b')
  await remote.sweep()
  expect([statusOf('a'), statusOf('b')]).toEqual(['PAUSED', 'RUNNING'])
  await local.delete('b')
  await local.sweep()
  expect(statusOf('b')).toBeUndefined()
})
