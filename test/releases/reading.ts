/** What a release reads of a log and of a store, as plain values that a later release is held to. */

import { createHash } from 'node:crypto'
import type { Fact } from '../../src/event/quarantine.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { findEvent, listBranches, listPendingCalls, listWarnings, viewEvents } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { GRAMMARS } from '../messages/grammars.ts'

/** A text in 16 digits. */
const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)

/** What is sent to a provider in 16 digits, or the code of what refuses it. */
function sent(write: () => unknown): string {
  try {
    return digest(write())
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

/** What a log says. */
export function readLog(facts: readonly Fact[], conversationId: string): object {
  const state = replay(facts, { conversationId })
  const entries = [...state.log.entries]
  return {
    length: entries.length,
    entries: digest(entries.map(({ id, timestamp, parent, inTree }) => [id, timestamp, parent?.id, inTree])),
    status: state.header.status,
    error: state.header.error?.code ?? null,
    head: state.branch.view.length === 0 ? null : digest([...viewEvents(state)].map(({ id }) => id)),
    branches: listBranches(state).length,
    pending: listPendingCalls(state).map(({ entry: { id } }) => id),
    warnings: listWarnings(state).map(({ seq, code }) => `${seq} ${code}`),
    messages: digest(toMessages(state)),
    ...Object.fromEntries(
      Object.entries(GRAMMARS).map(([name, { write }]) => [name, sent(() => write(toMessages(state)))]),
    ),
    found: entries.every(({ id }) => id === null || findEvent(state, id) !== null),
  }
}

/** What a store says of a conversation: its record but for what differs by the moment it was made at, and its pages. */
export async function readStored(store: Store, conversationId: string): Promise<object> {
  const record = await store.getConversation(conversationId)
  const pages = async (more: object): Promise<string> => {
    const ids: string[] = []
    let cursor: string | null = null
    do {
      const page = await store.search({
        conversationId,
        limit: 7,
        ...more,
        ...(cursor === null ? {} : { cursor }),
      })
      ids.push(...page.items.map(({ seq, id }) => `${seq} ${id}`))
      cursor = page.next_page_id
    } while (cursor !== null)
    return `${ids.length} ${digest(ids)}`
  }
  const stored = await store.read(conversationId)
  return {
    title: record?.title ?? null,
    tags: record?.tags ?? null,
    version: record?.version ?? null,
    headId: record?.headId ?? null,
    facts: digest(stored.map(({ fact }) => fact)),
    rows: digest(stored.map(({ seq, id, time, parentId }) => [seq, id, time, parentId])),
    up: await pages({}),
    down: await pages({ order: 'timestamp_desc' }),
    results: await pages({ kinds: ['ObservationEvent', 'AgentErrorEvent'] }),
    ofUsers: await pages({ source: 'user' }),
    withText: await pages({ text: 'the' }),
  }
}
