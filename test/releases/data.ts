/** Writes the data that is recorded for a release, and reads what every later version must return for it. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import fc from 'fast-check'
import { viewEventsIn } from '../../src/view/view.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import { loadLine } from '../../src/event/load.ts'
import { type Fact, isQuarantined } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { testIds } from '../../src/testing/deterministic.ts'
import { hostileLog } from '../../src/testing/hostile-log.ts'
import { legalLog } from '../../src/testing/legal-log.ts'

/** Lines of logs, by name. */
export type Logs = Readonly<Record<string, readonly string[]>>

const SAMPLE = resolve(import.meta.dirname, '../../src/cli/sample.jsonl')

/** Enough events for a snapshot. */
const MANY = 1_100

const LONG_TEXT = 'What did the oak say? '.repeat(4_000)

const user = (id: string, text: string): Event => ({
  kind: 'MessageEvent',
  id,
  timestamp: '2026-11-26T12:00:00Z',
  source: 'user',
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
})

const lineOf = (fact: Fact): string => (isQuarantined(fact) ? fact.raw : JSON.stringify(fact))

const named = (name: string, logs: readonly (readonly Fact[])[]): [string, string[]][] =>
  logs.map((log, index) => [`${name}-${index + 1}`, log.map(lineOf)])

/** The sample conversation, and arbitrary logs: branches, condensations, working calls, unreadable lines. */
export function makeLogs(): Logs {
  return Object.fromEntries([
    ['sample', readFileSync(SAMPLE, 'utf8').trimEnd().split('\n')],
    ...named('legal', fc.sample(legalLog({ minCommands: 20 }), { seed: 1, numRuns: 8 })),
    ...named('hostile', fc.sample(hostileLog(), { seed: 1, numRuns: 8 })),
  ])
}

/** Fills an empty store: the logs, a snapshot, a long text twice, a fork, an item, a lease and a deletion. */
export async function fillStore(store: Store, logs: Logs): Promise<void> {
  const engine = createEngine({ store, newId: testIds('made') })
  for (const [id, lines] of Object.entries(logs)) {
    await store.createConversation({ id, title: `Log ${id}`, owner: 'user-1', tags: { kind: 'log' } })
    await store.append(
      id,
      lines.map((line) => loadLine(line).fact),
      { mode: 'import' },
    )
  }
  const many = await engine.create({ id: 'many', timeZone: 'Europe/Berlin' })
  await many.append(Array.from({ length: MANY }, (_, index) => user(`many-${index}`, `Number ${index}.`)))
  const longTexts = await engine.create({ id: 'talk' })
  await longTexts.append([
    user('long-1', LONG_TEXT),
    user('long-2', LONG_TEXT),
    user('short', 'Is it an oak?'),
  ])
  await longTexts.fork({ id: 'fork' })
  await store.createConversation({ id: 'gone' })
  await store.append('gone', [user('gone-1', 'Soon forgotten.')])
  await store.deleteConversation('gone')
  await store.changeItems([
    { collection: 'settings', id: 'one', put: { body: { color: 'green' }, keys: { owner: 'user-1' } } },
  ])
  await store.acquireLease('talk', 'process-1', 1)
  await engine.close()
}

const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 32)

/** The facts, HEAD, status, view and number of messages of a state, which no version may change. */
function summaryOf(state: State): object {
  const { log, header, branch } = state
  const entries = [...log.entries]
  return {
    facts: digest(entries.map(({ event, quarantined }) => quarantined?.raw ?? event)),
    quarantined: entries.filter(({ quarantined }) => quarantined !== null).length,
    head: log.head?.id ?? null,
    status: header.status,
    view: [...viewEventsIn(branch.view)].map(({ id }) => id).join(' '),
    messages: toMessages(state).length,
  }
}

export const summariesOf = (logs: Logs): object =>
  Object.fromEntries(
    Object.entries(logs).map(([name, lines]) => [
      name,
      summaryOf(replay(lines.map((line) => loadLine(line).fact))),
    ]),
  )

/** Everything that a store must return for the data of {@link fillStore}. */
export async function readStore(store: Store): Promise<object> {
  const engine = createEngine({ store })
  const conversations: Record<string, object> = {}
  for (const { id, title, owner, tags, timeZone, parentConversationId, version } of (
    await store.listConversations({ limit: 100 })
  ).items) {
    const opened = await (await engine.open(id)).state()
    const events = await store.read(id, { limit: 10_000 })
    conversations[id] = {
      title,
      owner,
      tags,
      timeZone,
      parentConversationId,
      version,
      snapshot: (await store.loadSnapshot(id)).length > 0,
      opened: opened.header.status,
      ...summaryOf(replay(events.map(({ fact }) => fact))),
    }
  }
  const search = await store.searchText?.({ query: 'oak' })
  const items = await store.listItems('settings')
  const feed = await store.feed({ limit: 100 })
  const lease = await store.getLease('talk')
  await engine.close()
  return {
    conversations,
    found: search?.items.map(({ conversationId, id }) => `${conversationId} ${id}`).toSorted(),
    items: items.items.map(({ id, body, keys }) => ({ id, body, keys })),
    feed: feed.items.length,
    lease: lease && { owner: lease.owner, generation: lease.generation },
  }
}
