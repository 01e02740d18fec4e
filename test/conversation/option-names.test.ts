/** Unknown options throw at run time with the nearest valid name. */

import { expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { receiveUIMessages } from '../../src/conversation/ui-messages.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { shellHook } from '../../src/conversation/shell/index.ts'
import { createService } from '../../src/service/service.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { says } from './script.ts'

const STORES: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore(),
  sqlite: () => sqliteStore({ file: ':memory:' }),
}

/** The call, the misspelled option and the intended one. */
const CALLS: readonly (readonly [string, string, string, (store: Store, more: object) => unknown])[] = [
  ['listConversations', 'parentId', 'parentConversationId', (store, more) => store.listConversations(more)],
  ['listConversations', 'tag', 'tags', (store, more) => store.listConversations(more)],
  ['countConversations', 'titleContain', 'titleContains', (store, more) => store.countConversations(more)],
  ['search', 'timestampGt', 'timestampGte', (store, more) => store.search({ conversationId: 'c', ...more })],
  ['search', 'cursors', 'cursor', (store, more) => store.search({ conversationId: 'c', ...more })],
  ['count', 'kind', 'kinds', (store, more) => store.count({ conversationId: 'c', ...more })],
  ['createEngine', 'cachebytes', 'cacheBytes', (store, more) => createEngine({ store, ...more })],
  [
    'run',
    'leaseTTL',
    'leaseTtl',
    async (store, more) => {
      const conversation = await createEngine({ store }).openOrCreate('c')
      return conversation.run(() => [says('Hi')], more)
    },
  ],
  ['createConversation', 'titl', 'title', (store, more) => store.createConversation({ id: 'c', ...more })],
  [
    'read',
    'form',
    'from',
    async (store, more) => {
      await store.createConversation({ id: 'c' })
      return store.read('c', more)
    },
  ],
  ['listItems', 'desending', 'descending', (store, more) => store.listItems('things', more)],
  [
    'store.append',
    'expects',
    'expected',
    async (store, more) => {
      await store.createConversation({ id: 'c' })
      return store.append('c', [], more)
    },
  ],
  [
    'updateConversation',
    'titl',
    'title',
    async (store, more) => {
      await store.createConversation({ id: 'c' })
      return store.updateConversation('c', more)
    },
  ],
  [
    'updateConversation',
    'expects',
    'expected',
    async (store, more) => {
      await store.createConversation({ id: 'c' })
      return store.updateConversation('c', {}, more)
    },
  ],
  ['saveSnapshot', 'completed', 'complete', (store, more) => store.saveSnapshot('c', [], more)],
  ['listLeases', 'expires', 'expired', (store, more) => store.listLeases(more)],
  ['feed', 'shards', 'shard', (store, more) => store.feed(more)],
  ['countConversations', 'exactly', 'exact', (store, more) => store.countConversations({}, more)],
  ['countItems', 'exactly', 'exact', (store, more) => store.countItems('things', {}, more)],
  ['countItems', 'valu', 'value', (store, more) => store.countItems('things', more)],
  ['claimItems', 'limits', 'limit', (store, more) => store.claimItems('things', { ttl: 1, ...more })],
  [
    'changeItems',
    'expects',
    'expected',
    (store, more) => store.changeItems([{ collection: 'things', id: 'a', ...more }]),
  ],
  [
    'changeItems',
    'dueAt',
    'dueIn',
    (store, more) => store.changeItems([{ collection: 'things', id: 'a', put: { body: {}, ...more } }]),
  ],
  ['readBlob', 'starts', 'start', (store, more) => store.readBlob('c', 'a'.repeat(64), more)],
  ['memoryStore', 'fullTexts', 'fullText', (_, more) => memoryStore(more)],
  ['sqliteStore', 'readonly', 'readOnly', (_, more) => sqliteStore({ file: ':memory:', ...more })],
  [
    'postgresStore',
    'schemas',
    'schema',
    (_, more) => postgresStore({ url: 'postgres://localhost/x', ...more }),
  ],
  ['create', 'tag', 'tags', async (store, more) => createEngine({ store }).create(more)],
  ['openOrCreate', 'titles', 'title', async (store, more) => createEngine({ store }).openOrCreate('c', more)],
  [
    'follow',
    'leaseTTL',
    'leaseTtl',
    async (store, more) => createEngine({ store }).follow({ name: 'f', ...more }, () => undefined),
  ],
  ...(
    [
      ['append', 'expects', 'expected', (c, more) => c.append({ kind: 'PauseEvent' }, more)],
      ['sendMessage', 'keys', 'key', (c, more) => c.sendMessage('Hi', more)],
      ['interrupt', 'works', 'working', (c, more) => c.interrupt(more)],
      ['fork', 'form', 'from', (c, more) => c.fork(more)],
      ['waitFor', 'signals', 'signal', (c, more) => c.waitFor('idle', more)],
      ['subscribe', 'aftr', 'after', (c, more) => c.subscribe(more).next()],
      ['subscribeTree', 'signals', 'signal', (c, more) => c.subscribeTree(more).next()],
    ] satisfies [string, string, string, (c: Conversation, more: object) => unknown][]
  ).map(
    ([name, option, meant, call]) =>
      [
        name,
        option,
        meant,
        async (store: Store, more: object) => call(await createEngine({ store }).openOrCreate('c'), more),
      ] as const,
  ),
  [
    'createService',
    'maxRun',
    'maxRuns',
    (store, more) => createService({ engine: createEngine({ store }), ...more }),
  ],
  ['shellHook', 'timeouts', 'timeout', (_, more) => shellHook({ on: 'Stop', command: 'true', ...more })],
  [
    'receiveUIMessages',
    'pageTool',
    'pageTools',
    async (store, more) => {
      const conversation = await createEngine({ store }).openOrCreate('c')
      return receiveUIMessages(conversation, { messages: [] }, more)
    },
  ],
]

const CASES = Object.keys(STORES).flatMap((name) => CALLS.map((call) => [name, ...call] as const))

it.each(CASES)('over %s, %s refuses %s and names %s', async (name, _, option, meant, call) => {
  const store = STORES[name]?.() as Store
  const attempt = async (): Promise<unknown> => call(store, { [option]: 'x' })
  await expect(attempt()).rejects.toMatchObject({
    code: 'invalid_argument',
    message: `Unknown option "${option}". Did you mean ${meant}?`,
    data: { field: option },
  })
  await store.close()
})

it('names no option at length', async () => {
  const store = memoryStore()
  const attempt = async (): Promise<unknown> => store.listConversations({ ['x'.repeat(1e6)]: 1 })
  await expect(attempt()).rejects.toMatchObject({ data: { field: 'x'.repeat(40) } })
})
