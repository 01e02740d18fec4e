/** A lease in the store assigns a sandbox to the machine that started it. */

import { beforeEach, describe, expect, it } from 'vitest'
import {
  NO_STATE,
  type SandboxProvider,
  type SandboxStatus,
} from '../../src/service/control-plane/sandbox-provider.ts'
import { Sandboxes } from '../../src/service/control-plane/sandboxes.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'

const MINUTE = 60_000
let now = 0
let store: Store

function machine(name?: string) {
  const statuses = new Map<string, SandboxStatus>()
  const refused = new Set<string>()
  const begin = async (id: string): Promise<void> => void statuses.set(id, 'RUNNING')
  const provider: SandboxProvider = {
    ...(name !== undefined && { machine: name }),
    specs: [{ id: 's', command: ['x'], created_at: '', initial_env: {}, working_dir: '' }],
    start: begin,
    resume: begin,
    pause: async (id) => void (statuses.has(id) && statuses.set(id, 'PAUSED')),
    state: async (id) => {
      const status = statuses.get(id)
      return status === undefined ? null : { ...NO_STATE, status }
    },
    delete: async (id) => {
      if (refused.has(id)) throw new Error('Permission denied.')
      statuses.delete(id)
    },
    close: async () => undefined,
  }
  const open = (): Sandboxes => new Sandboxes(store, { provider, limit: 3, now: () => now })
  return { statuses, refused, open, sandboxes: open() }
}

let a: ReturnType<typeof machine>
let b: ReturnType<typeof machine>
beforeEach(async () => {
  now = 1_000_000
  store = memoryStore()
  a = machine('a')
  b = machine('b')
  await a.sandboxes.start(null, 'x')
  await a.sandboxes.sweep()
})

const stateOf = async (one: ReturnType<typeof machine>): Promise<string> => {
  const { status, status_detail } = await one.sandboxes.state('x')
  return `${status}: ${status_detail}`
}
const AWAY = /^Sandbox "x" belongs to the machine a, at least until \S+Z\. Resume it on that machine\.$/

describe('a sandbox lease', () => {
  it('shows another machine the owner and the status, and rejects a resume there', async () => {
    expect(await stateOf(a)).toBe('RUNNING: null')
    expect(await stateOf(b)).toBe('RUNNING: It belongs to the machine a.')
    await expect(b.sandboxes.resume('x')).rejects.toThrow(AWAY)
    await expect(b.sandboxes.start(null, 'x')).rejects.toThrow(AWAY)
    expect(b.statuses.size).toBe(0)
    expect((await b.sandboxes.list(null, 9)).items.map((one) => Object.keys(one))).toEqual([
      ['id', 'sandbox_spec_id', 'created_at'],
    ])
  })

  it('is renewed while its machine lives, also while the sandbox is paused', async () => {
    await b.sandboxes.pause('x')
    await a.sandboxes.sweep()
    expect([a.statuses.get('x'), await stateOf(b)]).toEqual([
      'PAUSED',
      'PAUSED: It belongs to the machine a.',
    ])
    for (let n = 0; n < 20; n += 1) {
      now += 15_000
      await a.sandboxes.sweep()
      await expect(b.sandboxes.resume('x')).rejects.toThrow(AWAY)
    }
    await a.sandboxes.resume('x')
    expect(await stateOf(a)).toBe('RUNNING: null')
  })

  it('is renewed by another process of its machine', async () => {
    const later = a.open()
    for (let n = 0; n < 10; n += 1) {
      now += 15_000
      await later.sweep()
    }
    await expect(b.sandboxes.resume('x')).rejects.toThrow(AWAY)
    await later.resume('x')
  })

  it('expires when its machine is silent, and another machine starts the sandbox again', async () => {
    now += MINUTE + 1
    expect(await stateOf(b)).toBe(
      'PAUSED: It belonged to the machine a, which stopped renewing its lease. Resume starts it again here, without its files.',
    )
    await b.sandboxes.resume('x')
    expect(await stateOf(b)).toBe(
      'RUNNING: It was restarted on this machine. Its files were on the machine a.',
    )
    // The silent machine continues.
    await expect(a.sandboxes.resume('x')).rejects.toThrow('belongs to the machine b')
    await a.sandboxes.sweep()
    expect([a.statuses.get('x'), b.statuses.get('x')]).toEqual(['PAUSED', 'RUNNING'])
    now += 40_000
    await a.sandboxes.sweep()
    await b.sandboxes.sweep()
    now += 40_000
    expect(await stateOf(a)).toBe('RUNNING: It belongs to the machine b.')
  })

  it('is acquired by one of six machines', async () => {
    const others = Array.from({ length: 6 }, (_, n) => machine(`m${n}`))
    now += MINUTE + 1
    const done = await Promise.allSettled(others.map(({ sandboxes }) => sandboxes.resume('x')))
    expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect(others.filter(({ statuses }) => statuses.has('x'))).toHaveLength(1)
  })

  it('is renewed although the files of another sandbox cannot be deleted', async () => {
    await a.sandboxes.start(null, 'y')
    a.refused.add('x')
    await b.sandboxes.delete('x')
    for (let n = 0; n < 10; n += 1) {
      now += 15_000
      await expect(a.sandboxes.sweep()).rejects.toThrow('Permission denied.')
    }
    expect((await b.sandboxes.state('y')).status_detail).toBe('It belongs to the machine a.')
  })

  it('is removed with its sandbox', async () => {
    await b.sandboxes.delete('x')
    await a.sandboxes.sweep()
    expect([a.statuses.has('x'), await stateOf(b)]).toEqual([false, 'MISSING: null'])
    await a.sandboxes.sweep()
  })
})

it('a provider without a machine name needs no lease', async () => {
  store = memoryStore()
  const shared = machine()
  await shared.sandboxes.start(null, 'x')
  await shared.open().resume('x')
  expect((await shared.sandboxes.state('x')).status_detail).toBeNull()
})
