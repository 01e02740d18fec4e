/** The service's records: as they last were, in every process, none lost among many who change them, and soon there after a restart. */

import { describe, expect, it } from 'vitest'
import { collection, systemConversationId } from '../../src/service/records/collection.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { STORES } from './client.ts'

interface Count {
  readonly n: number
}

describe.each(Object.entries(STORES))('records over %s', (_, make) => {
  it('are the same to all who keep them, the oldest first', async () => {
    const store = make()
    const [a, b] = [collection<Count>(store, 'settings'), collection<Count>(store, 'settings')]
    expect([...(await b.all())]).toEqual([])
    await a.put('one', { n: 1 })
    await b.put('two', { n: 2 })
    await a.put('one', { n: 3 })
    expect(await b.remove('three')).toBe(false)
    for (const each of [a, b, collection<Count>(store, 'settings')]) {
      expect([...(await each.all())]).toEqual([
        ['one', { n: 3 }],
        ['two', { n: 2 }],
      ])
    }
    expect([await a.remove('one'), await b.remove('one'), [...(await b.all()).keys()]]).toEqual([
      true,
      false,
      ['two'],
    ])
    expect([...(await collection<Count>(store, 'profiles').all())]).toEqual([])
    await store.close()
  })

  it('are there as soon as they are written, whoever else writes, and in whatever order answers come', async () => {
    const store = make()
    const [a, b] = [collection<Count>(store, 'settings'), collection<Count>(store, 'settings')]
    const live = await a.all()
    await b.put('two', { n: 2 })
    await a.put('one', { n: 1 })
    expect([...live.keys()]).toEqual(['two', 'one'])
    await Promise.all(
      Array.from({ length: 20 }, async (_, at) => {
        await (at % 2 === 0 ? a : b).put(`n${at}`, { n: at })
        if (at % 2 === 0) expect(live.get(`n${at}`)).toEqual({ n: at })
      }),
    )
    await a.putAll([
      ['two', { n: 3 }],
      ['three', { n: 3 }],
    ])
    expect([live.get('two'), live.get('three')]).toEqual([{ n: 3 }, { n: 3 }])
    expect([...(await b.all())]).toEqual([...live])
    await store.close()
  })

  it('lose no change of several who decide at once', async () => {
    const store = make()
    const many = Array.from({ length: 5 }, () => collection<Count>(store, 'settings'))
    await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        many[at % 5]?.change((records) => ({ changes: [['n', { n: (records.get('n')?.n ?? 0) + 1 }]] })),
      ),
    )
    expect((await collection<Count>(store, 'settings').all()).get('n')).toEqual({ n: 50 })
    await store.close()
  })

  it('are changed only by whoever holds the lease that is asked for', async () => {
    const store = make()
    const records = collection<Count>(store, 'settings')
    await records.put('n', { n: 1 })
    const lease = await store.acquireLease(systemConversationId('settings'), 'me', 1_000)
    await records.put('n', { n: 2 }, lease ?? undefined)
    await expect(records.put('n', { n: 3 }, { owner: 'you', generation: 9 })).rejects.toMatchObject({
      code: 'lease_lost',
    })
    await expect(records.remove('n', { owner: 'you', generation: 9 })).rejects.toMatchObject({
      code: 'lease_lost',
    })
    expect((await records.all()).get('n')).toEqual({ n: 2 })
    await store.close()
  })

  it('are not folded from the beginning again, and are right without what was remembered', async () => {
    const store = make()
    const records = collection<Count>(store, 'settings')
    for (let round = 0; round < 25; round += 1) {
      await records.change(() => ({
        changes: Array.from({ length: 100 }, (_, at) => [`r${at}`, { n: round * 100 + at }] as const),
      }))
    }
    await records.remove('r7')
    const all = [...(await records.all())]
    const reads: number[] = []
    const read: Store['read'] = (id, options = {}) => {
      reads.push(options.from ?? 0)
      return store.read(id, options)
    }
    const watched = new Proxy(store, {
      get(target, name) {
        const value: unknown = name === 'read' ? read : Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    expect([...(await collection<Count>(watched, 'settings').all())]).toEqual(all)
    expect(reads.every((from) => from >= 1_000)).toBe(true)
    await store.saveSnapshot(
      systemConversationId('settings'),
      [{ part: 0, bytes: new Uint8Array([1, 2, 3]) }],
      {
        complete: true,
      },
    )
    expect([...(await collection<Count>(store, 'settings').all())]).toEqual(all)
    await store.close()
  })
})
