/** The entry `colloquy/claude-agent`: a Claude Agent SDK session store, with a conversation for each session. */

import { foldSessionSummary } from '@anthropic-ai/claude-agent-sdk'
import type { SessionKey, SessionStore, SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk'
import { LRUCache } from 'lru-cache'
import { CHILD_TAGS } from '../conversation/engine-context.ts'
import { checkOptionNames } from '../event/check-value.ts'
import { ColloquyError, hasCode } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import type { JsonValue } from '../event/shapes.ts'
import { objectOf } from '../messages/text.ts'
import type { ConversationQuery, ConversationRecord } from '../store/contract/conversation-record.ts'
import type { Store } from '../store/contract/store.ts'
import { retryConflicts } from '../store/kit/items.ts'
import { allConversations } from '../store/kit/query/page.ts'
import { isKeepable } from '../store/kit/record.ts'
import { digest } from './channel-values.ts'
import {
  addLines,
  conversationIdOf,
  emptyTranscript,
  entriesOf,
  linesEvent,
  linesIn,
  parseLines,
  readEvents,
  sideKey,
  SIDES,
  subagentKey,
} from './claude-transcript.ts'
import type { Transcript } from './claude-transcript.ts'

export { conversationIdOf }

const [PROJECT, SUMMARIES] = ['claudeproject', 'claude-agent']

/**
 * Returns a session store for the Claude Agent SDK, over a Colloquy store.
 *
 * `load` returns the entries unchanged; null for an unknown or empty session. `append` ignores an entry whose
 * uuid the session already has. It also appends the entries' messages, calls and results as events, so that
 * readers can follow the conversation ({@link conversationIdOf}) live. Subagents become child conversations.
 * If other writers append events, the SDK continues from these events. `append` is O(new entries) while the
 * session is one of the last 100 that this store used, otherwise O(session). `load` is O(session).
 * @throws ColloquyError `invalid_argument` without a store. The returned methods throw the store's errors.
 * @example
 * const sessions = sessionStore({ store: memoryStore() })
 * const key = { projectKey: 'project', sessionId: 'session-1' }
 * await sessions.append(key, [{ type: 'custom-title', customTitle: 'Trees' }])
 * await sessions.load(key) // [{ type: 'custom-title', customTitle: 'Trees' }]
 */
export function sessionStore(options: { readonly store: Store }): Required<SessionStore> {
  const { store } = options
  if (typeof store?.append !== 'function')
    throw new ColloquyError('invalid_argument', '`store` must be a Colloquy store, such as `memoryStore()`.')
  checkOptionNames(options, 'store')
  const transcripts = new LRUCache<string, Transcript>({ max: 100 })
  const queues = new Map<string, Promise<unknown>>()

  const inOrder = <T>(key: SessionKey, task: (id: string) => Promise<T>): Promise<T> => {
    const id = conversationIdOf(key)
    const run = (): Promise<T> => task(id)
    const done = (queues.get(id) ?? Promise.resolve()).then(run, run)
    queues.set(id, done)
    const forget = (): void => {
      if (queues.get(id) === done) queues.delete(id)
    }
    done.then(forget, forget)
    return done
  }

  const transcriptOf = async (record: ConversationRecord, key: SessionKey): Promise<Transcript> => {
    const { id, createdAt, version } = record
    let transcript = transcripts.get(id)
    if (transcript?.createdAt !== createdAt || transcript.version > version) {
      transcript = emptyTranscript(createdAt, key)
      transcripts.set(id, transcript)
    }
    for (const { fact } of await readEvents(store, id, transcript.version, version)) {
      const text = linesIn(fact)
      if (text !== null) addLines(transcript, text)
    }
    transcript.version = version
    return transcript
  }

  const append = async (
    id: string,
    key: SessionKey,
    entries: readonly SessionStoreEntry[],
  ): Promise<void> => {
    const record = await recordOf(key)
    const transcript = await transcriptOf(record, key)
    const fresh = new Map<unknown, SessionStoreEntry>()
    for (const entry of entries) {
      const uuid = entry.uuid ?? Symbol('no uuid')
      if (!transcript.uuids.has(uuid) && !fresh.has(uuid)) fresh.set(uuid, entry)
    }
    const [first] = fresh.values()
    if (first === undefined) return appendSubagents(transcript, key)
    const { head, title } = transcript
    const text = [...fresh.values()].map((entry) => JSON.stringify(entry)).join('\n')
    const isKnown = transcript.uuids.has(first['parentUuid'])
    const timestamp = new Date().toISOString()
    const events = addLines(transcript, text).map((event) => ({ timestamp, ...event }))
    // New lines that continue a known line follow the session's last event, not other writers' later events.
    const isMoved = record.headId !== head && isKnown && events[0]?.parent_id === undefined
    if (isMoved && events[0] !== undefined) events[0] = { ...events[0], parent_id: head ?? '__root__' }
    const facts = [linesEvent(text, timestamp), ...events]
    try {
      const options = { expected: transcript.version, createdAt: transcript.createdAt }
      transcript.version = (await store.append(id, facts, options)).version
    } catch (error) {
      transcripts.delete(id)
      throw error
    }
    await appendSubagents(transcript, key)
    if (transcript.title && transcript.title !== title && isKeepable(transcript.title, 200))
      await store.updateConversation(id, { title: transcript.title })
  }

  /** Appends side chains, and records in each subagent's conversation the call that opened the subagent. */
  const appendSubagents = async ({ sides, subagents }: Transcript, key: SessionKey): Promise<void> => {
    for (const [name, events] of sides) {
      if (events.length === 0) continue
      const { id } = await recordOf(sideKey(key, name))
      // An import recognizes, by their ids, events that another process has already appended.
      await store.append(id, events, { mode: 'import' })
      sides.set(name, [])
    }
    for (const [agent, action_id] of subagents) {
      // The conversation may still be empty.
      const { id, metadata } = await recordOf((sides.has(agent) ? sideKey : subagentKey)(key, agent))
      const isLinked = objectOf(metadata['subagent'])['action_id'] === action_id
      const subagent = { action_id, depth: 1 }
      if (!isLinked) await store.updateConversation(id, { metadata: { ...metadata, subagent } })
      subagents.delete(agent)
    }
  }

  const recordOf = async (key: SessionKey): Promise<ConversationRecord> => {
    const id = conversationIdOf(key)
    return (await store.getConversation(id)) ?? createSession(store, id, key)
  }

  const remove = async (id: string): Promise<void> => {
    const children = await listAll(store, { parentConversationId: id, tags: CHILD_TAGS })
    await Promise.all(children.map((child) => remove(child.id)))
    await store.deleteConversation(id)
    await store.changeItems([{ collection: SUMMARIES, id, put: null }])
  }

  return {
    append(key, entries) {
      if (entries.length === 0) return Promise.resolve()
      return inOrder(key, (id) => retryConflicts(() => append(id, key, entries)))
    },
    load: (key) =>
      inOrder(key, async (id) => {
        const record = await store.getConversation(id)
        if (record === null) return null
        const { ids } = await transcriptOf(record, key)
        return entriesOf(await readEvents(store, id, 0, record.version), key, ids)
      }),
    async listSessions(projectKey) {
      return (await listSessions(store, projectKey)).map(({ sessionId, mtime }) => ({ sessionId, mtime }))
    },
    async listSessionSummaries(projectKey) {
      const sessions = await listSessions(store, projectKey)
      return Promise.all(
        sessions.map(async ({ record, sessionId, mtime }) => {
          const { id, createdAt, version } = record
          const body = (await store.getItem(SUMMARIES, id))?.body
          const isOfRecord = body?.['createdAt'] === createdAt
          const known = isOfRecord ? Number(body?.['version']) : 0
          const data = isOfRecord ? (body?.['data'] as Record<string, unknown>) : {}
          let summary = { sessionId, mtime, data }
          for (const { fact } of await readEvents(store, id, known, version)) {
            const text = linesIn(fact)
            const key = { projectKey, sessionId }
            const previous = Object.keys(summary.data).length === 0 ? undefined : summary
            if (text !== null) summary = foldSessionSummary(previous, key, parseLines(text), { mtime })
          }
          const put = { body: { createdAt, version, data: summary.data as Record<string, JsonValue> } }
          if (known < version) await store.changeItems([{ collection: SUMMARIES, id, put }])
          return { ...summary, mtime }
        }),
      )
    },
    delete: (key) => inOrder(key, remove),
    async listSubkeys({ projectKey, sessionId }) {
      const parentConversationId = conversationIdOf({ projectKey, sessionId })
      const children = await listAll(store, { parentConversationId, tags: CHILD_TAGS })
      return children.flatMap(({ metadata, version }) => {
        const { claude_agent: key } = metadata
        return isObject(key) && typeof key['subpath'] === 'string' && version > 0 ? [key['subpath']] : []
      })
    },
  }
}

async function createSession(store: Store, id: string, key: SessionKey): Promise<ConversationRecord> {
  const { projectKey, sessionId, subpath } = key
  const main = { tags: { [PROJECT]: digest(projectKey) } }
  const child = { tags: CHILD_TAGS, parentConversationId: conversationIdOf({ projectKey, sessionId }) }
  const isSide = subpath?.startsWith(SIDES) === true
  const metadata = {
    // A side chain is not listed as a transcript of the SDK.
    ...(!isSide && { claude_agent: { projectKey, sessionId, ...(subpath !== undefined && { subpath }) } }),
    ...(subpath !== undefined && { subagent: { depth: 1 } }),
  }
  try {
    const about = subpath === undefined ? main : child
    return await store.createConversation({ id, status: 'idle', metadata, ...about })
  } catch (error) {
    const record = hasCode(error, 'conversation_exists') ? await store.getConversation(id) : null
    if (record === null) throw error
    return record
  }
}

async function listAll(store: Store, query: ConversationQuery): Promise<ConversationRecord[]> {
  const records: ConversationRecord[] = []
  for await (const record of allConversations(store, query)) records.push(record)
  return records
}

async function listSessions(store: Store, projectKey: string) {
  const records = await listAll(store, { tags: { [PROJECT]: digest(projectKey) } })
  return records.flatMap((record) => {
    const { claude_agent: key } = record.metadata
    if (record.version === 0 || !isObject(key) || typeof key['sessionId'] !== 'string') return []
    return [{ record, sessionId: key['sessionId'], mtime: Date.parse(record.updatedAt) }]
  })
}
