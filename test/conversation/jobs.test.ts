/** Jobs under a lease whose writes lose their response. */

import { expect, it, onTestFinished } from 'vitest'
import { Jobs } from '../../src/conversation/jobs.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { wrapStore } from './stores.ts'

const TTL = 60_000

const jobsIn = (store: Store) => new Jobs<{ n: number }>({ store, collection: 'jobs', ttl: TTL })

/** A held job, whose next save is stored without a response. */
async function silentJob() {
  let now = 1_000_000
  const store = memoryStore({ clock: () => BigInt(now) * 1_000n })
  let isSilent = false
  const silent = wrapStore(store, {
    changeItems: async (changes) => {
      const items = await store.changeItems(changes)
      if (isSilent) throw new ColloquyError('store_unavailable', 'no response')
      return items
    },
  })
  const job = await jobsIn(silent).add('j', { n: 1 })
  onTestFinished(() => job.abandon())
  now += 1_000
  isSilent = true
  job.record = { n: 2 }
  await expect(job.save()).rejects.toMatchObject({ code: 'store_unavailable' })
  isSilent = false
  const pass = (milliseconds: number): void => void (now += milliseconds)
  return { job, store, others: jobsIn(store), pass }
}

it('a job keeps its lease after a save that was stored without a response', async () => {
  const { job, store } = await silentJob()
  job.record = { n: 3 }
  await job.save()
  expect(job.lost.aborted).toBe(false)
  expect((await store.getItem('jobs', 'j'))?.body).toEqual({ n: 3 })
  await job.finish()
  expect(await store.getItem('jobs', 'j')).toBe(null)
})

it('a job loses its lease if another process claims it after such a save', async () => {
  const { job, others, pass } = await silentJob()
  pass(TTL)
  const [claimed] = await others.claim()
  onTestFinished(() => claimed?.abandon())
  expect(claimed?.record).toEqual({ n: 2 })
  await expect(job.save()).rejects.toMatchObject({ code: 'lease_lost' })
  await claimed?.save()
})

it('a job loses its lease if another process changes it after such a save', async () => {
  const { job, others } = await silentJob()
  const taken = await others.take('j', () => ({ n: 5 }))
  onTestFinished(() => taken?.abandon())
  await expect(job.save()).rejects.toMatchObject({ code: 'lease_lost' })
  await taken?.save()
})

it('a job loses its lease to another process that stores a record which the job failed to save', async () => {
  const store = memoryStore()
  let isDown = false
  const unreliable = wrapStore(store, {
    changeItems: async (changes) => {
      if (isDown) throw new ColloquyError('store_unavailable', 'down')
      return store.changeItems(changes)
    },
  })
  const job = await jobsIn(unreliable).add('j', { n: 1 })
  onTestFinished(() => job.abandon())
  isDown = true
  job.record = { n: 2 }
  await expect(job.save()).rejects.toMatchObject({ code: 'store_unavailable' })
  isDown = false
  job.record = { n: 3 }
  await job.save()
  const taken = await jobsIn(store).take('j', () => ({ n: 2 }))
  onTestFinished(() => taken?.abandon())
  await expect(job.save()).rejects.toMatchObject({ code: 'lease_lost' })
  await taken?.save()
})
