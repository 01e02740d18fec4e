import type { ConversationFilter } from '../../store/contract/conversation-record.ts'
import { MOST_LOOKED_AT } from '../../store/contract/query.ts'
import type { Store } from '../../store/contract/store.ts'
import { equal, holds, rejects } from './assert.ts'
import type { Check } from './check.ts'
import { followAll } from './feed.ts'
import { begin, pause } from './facts.ts'
import { put } from './item-facts.ts'

/** The ids that a list finds, page after page; pages may be short, and end. */
async function walk(store: Store, filter: ConversationFilter, limit: number): Promise<string[]> {
  const ids: string[] = []
  let cursor: string | null = null
  for (let pages = 0; ; pages += 1) {
    const query = { ...filter, order: 'created_at', limit: 7 } as const
    const page: Awaited<ReturnType<Store['listConversations']>> = await store.listConversations(
      cursor === null ? query : { ...query, cursor },
    )
    ids.push(...page.items.map(({ id }) => id))
    holds(pages < limit, `a walk of ${JSON.stringify(filter)} should need at most ${limit} pages`)
    if (page.cursor === null) return ids
    cursor = page.cursor
  }
}

export const LIST_BOUNDS: readonly Check[] = [
  {
    name: 'list: a rare value is found, by pages that may be short and have a cursor',
    large: true,
    async run({ store }) {
      const count = MOST_LOOKED_AT + 150
      const rare = new Set([3, 500, MOST_LOOKED_AT - 1, MOST_LOOKED_AT, count - 1])
      for (let index = 0; index < count; index += 50) {
        const made = Array.from({ length: 50 }, (_, i) =>
          store.createConversation({
            id: `c${index + i}`,
            title: index + i === count - 1 ? 'The last needle' : rare.has(index + i) ? 'The needle' : 'hay',
            tags: { half: String((index + i) % 2), ...(rare.has(index + i) && { rare: 'yes' }) },
          }),
        )
        await Promise.all(made)
      }
      const there = [...rare].map((nth) => `c${nth}`).toSorted()
      for (const filter of [
        { titleContains: 'NEEDLE' },
        { tags: { rare: 'yes' } },
        { titleContains: 'needle', tags: { rare: 'yes' } },
      ])
        equal((await walk(store, filter, 5)).toSorted(), there, JSON.stringify(filter))
      const odd = there.filter((id) => Number(id.slice(1)) % 2 === 1)
      equal(
        (await walk(store, { titleContains: 'needle', tags: { half: '1' } }, 5)).toSorted(),
        odd,
        'with another filter',
      )
      equal(await walk(store, { titleContains: 'last' }, 5), [`c${count - 1}`], 'what the last one has')
      equal(await walk(store, { titleContains: 'no such' }, 5), [], 'what none has')
      equal(
        (await walk(store, { tags: { half: '0' } }, count)).length,
        count / 2,
        'what many have, in pages that are full',
      )
      equal(await store.countConversations({ titleContains: 'needle' }), { count: 5, more: false }, 'counted')
      equal(await store.countConversations({}, { exact: true }), { count, more: false }, 'counted exactly')
    },
  },
  {
    name: 'list: a status belongs to a version of the log, and does not change the conversation',
    async run(trial) {
      const { store } = trial
      await begin(store, 'c')
      await store.createConversation({ id: 'd', status: 'idle' })
      await store.append('c', [pause('a'), pause('b')])
      const before = await store.getConversation('c')
      const { next } = await followAll(trial, 4)
      equal(await store.setStatus('c', 'running', 1), false, 'set for an older log')
      equal(await store.setStatus('none', 'running', 0), false, 'said of none')
      for (const version of [-1, 1.5, NaN, 2 ** 40, undefined, '2'] as number[])
        equal(await store.setStatus('c', 'running', version), false, `set for ${version} events`)
      equal(await store.getConversation('c'), before, 'the record after all')
      equal(await store.setStatus('c', 'running', 2), true, 'set for the current log')
      equal(await store.getConversation('c'), { ...before, status: 'running' }, 'the record')
      equal((await store.feed({ after: next })).items, [], 'its items in the feed')
      const listed = async (status: string): Promise<string[]> =>
        (await store.listConversations({ status })).items.map(({ id }) => id)
      equal([await listed('running'), await listed('idle'), await listed('')], [['c'], ['d'], []], 'lists')
      equal(await store.setStatus('c', 'paused', 2), true, 'said again')
      await store.updateConversation('c', { tags: { a: 'x' }, public: true })
      equal([await listed('running'), await listed('paused')], [[], ['c']], 'lists after it')
      equal((await store.countConversations({ status: 'paused', tags: { a: 'x' } })).count, 1, 'counted')
      await store.updateConversation('c', { tags: {} })
      equal(
        (await store.countConversations({ status: 'paused', tags: { a: 'x' } })).count,
        0,
        'counted later',
      )
      await store.deleteConversation('c')
      equal([await listed('paused'), (await store.countConversations()).count], [[], 1], 'when it is gone')
      for (const status of ['', 'No', 'x'.repeat(41), 7 as unknown as string])
        await rejects('invalid_argument', JSON.stringify(status), () => store.setStatus('d', status, 0))
      await rejects('invalid_argument', 'created', () => store.createConversation({ id: 'e', status: '' }))
      await rejects('invalid_id', 'a sandbox', () => store.createConversation({ id: 'e', sandboxId: '' }))
    },
  },
  {
    name: 'items: a count equals the list',
    async run({ store }) {
      for (let i = 0; i < 12; i += 1)
        await put(store, `i${i}`, {}, i < 9 ? { keys: { n: String(i % 3) } } : {})
      const counts = [
        await store.countItems('c'),
        await store.countItems('c', { from: 'i2' }),
        await store.countItems('c', { by: 'n' }),
        await store.countItems('c', { by: 'n', value: '1' }),
        await store.countItems('c', { by: 'n', from: '1', below: '2' }, { exact: true }),
        await store.countItems('other'),
      ]
      equal(
        counts,
        [12, 8, 9, 3, 3, 0].map((count) => ({ count, more: false })),
        'counts',
      )
      await rejects('invalid_query', 'no name of a key', () => store.countItems('c', { by: 'N' }))
    },
  },
]
