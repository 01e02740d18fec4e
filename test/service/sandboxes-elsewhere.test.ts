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

let here: Sandboxes
let elsewhere: Sandboxes
const statusOf = (id: string): SandboxStatus | undefined => all.get(id)?.status

beforeEach(async () => {
  all.clear()
  const store = memoryStore()
  here = new Sandboxes(store, { provider: providerOf('here'), limit: 1 })
  elsewhere = new Sandboxes(store, { provider: providerOf('elsewhere'), limit: 1 })
  await elsewhere.start(null, 'a')
})

it('holds it, and lets it go on', async () => {
  await here.pause('a')
  expect([statusOf('a'), await here.sweep(), await elsewhere.sweep(), statusOf('a')]).toEqual([
    'RUNNING',
    [],
    [],
    'PAUSED',
  ])
  await here.resume('a')
  expect([statusOf('a'), await here.sweep(), await elsewhere.sweep(), statusOf('a')]).toEqual([
    'PAUSED',
    [],
    ['a'],
    'RUNNING',
  ])
  expect([await elsewhere.sweep(), statusOf('a')]).toEqual([[], 'RUNNING'])
})

it('does what was asked for last', async () => {
  await here.pause('a')
  await here.resume('a')
  expect([await elsewhere.sweep(), statusOf('a')]).toEqual([[], 'RUNNING'])
})

it('holds it for one more, and deletes it', async () => {
  await here.start(null, 'b')
  await elsewhere.sweep()
  expect([statusOf('a'), statusOf('b')]).toEqual(['PAUSED', 'RUNNING'])
  await here.delete('b')
  await here.sweep()
  expect(statusOf('b')).toBeUndefined()
})
