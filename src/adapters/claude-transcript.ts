/** Converts lines of a Claude Code transcript to events, and other writers' events to lines. */

import type { SessionKey, SessionStoreEntry } from '@anthropic-ai/claude-agent-sdk'
import { updateEvent } from '../conversation/decide.ts'
import { without } from '../event/json.ts'
import { type Fact, isQuarantined } from '../event/quarantine.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import type { Event } from '../event/types.ts'
import { toAnthropic } from '../messages/anthropic/write.ts'
import { toMessages } from '../messages/neutral.ts'
import { objectOf } from '../messages/text.ts'
import { growingClaudeCode } from '../sessions/growing-claude-code.ts'
import type { SessionFact } from '../sessions/session.ts'
import { pathTo } from '../state/read.ts'
import { replay } from '../state/reduce.ts'
import type { StoredEvent } from '../store/contract/query.ts'
import type { Store } from '../store/contract/store.ts'
import { digest } from './channel-values.ts'

const LINES = 'claude_agent.lines'
const PAGE = 1_000

/**
 * Returns the id of the conversation for a session, or for the transcript of a subagent.
 * @example
 * conversationIdOf({ projectKey: 'p', sessionId: 's' }) // 's-c5018da6c53d5c45f9b5364ff97c278b'
 */
export function conversationIdOf({ projectKey, sessionId, subpath }: SessionKey): string {
  const name = (subpath ?? sessionId).split('/').at(-1) ?? ''
  return `${name.replaceAll(/[^\w-]/g, '').slice(0, 60)}-${digest(projectKey, sessionId, subpath ?? '')}`
}

export const subagentKey = ({ projectKey, sessionId }: SessionKey, agent: string): SessionKey => ({
  projectKey,
  sessionId,
  subpath: `subagents/agent-${agent}`,
})

export const SIDES = 'sides/'

/** Returns a key for a side chain, whose lines are in the session's transcript. */
export const sideKey = ({ projectKey, sessionId }: SessionKey, name: string): SessionKey => ({
  projectKey,
  sessionId,
  subpath: `${SIDES}${name}`,
})

/** A session as this process has read it, up to a version of its log. */
export interface Transcript {
  readonly createdAt: string
  readonly read: ReturnType<typeof growingClaudeCode>
  version: number
  count: number
  readonly uuids: Set<unknown>
  readonly ids: Set<string>
  head: string | null
  title: string | null
  /** Ids of the calls that opened subagents, by subagent, until the subagents' conversation records contain the ids. */
  readonly subagents: Map<string, string>
  /**
   * For each side chain, the events that this process has not appended yet. Another process may have appended
   * some of them; the import recognizes these by their ids.
   */
  readonly sides: Map<string, readonly Event[]>
}

export const emptyTranscript = (createdAt: string, key: SessionKey): Transcript => ({
  createdAt,
  read: growingClaudeCode((name, isSide) => conversationIdOf((isSide ? sideKey : subagentKey)(key, name))),
  version: 0,
  count: 0,
  uuids: new Set(),
  ids: new Set(),
  head: null,
  title: null,
  subagents: new Map(),
  sides: new Map(),
})

export async function readEvents(
  store: Store,
  id: string,
  start: number,
  end: number,
): Promise<StoredEvent[]> {
  const pages: StoredEvent[][] = []
  for (let from = start; from < end; from += PAGE)
    // oxlint-disable-next-line no-await-in-loop
    pages.push(await store.read(id, { from, limit: Math.min(PAGE, end - from) }))
  return pages.flat()
}

export function addLines(transcript: Transcript, text: string): Event[] {
  const records = parseLines(text).map((entry, index) => {
    if (entry.uuid !== undefined) transcript.uuids.add(entry.uuid)
    return { line: transcript.count + index + 1, raw: '', value: entry as JsonValue }
  })
  transcript.count += records.length
  const { facts, title, sides, subagents } = transcript.read(records)
  transcript.title = title
  for (const [agent, actionId] of subagents) transcript.subagents.set(agent, actionId)
  for (const [name, more] of sides)
    transcript.sides.set(name, [...(transcript.sides.get(name) ?? []), ...more.flatMap(factEvents)])
  const events = facts.flatMap(factEvents)
  for (const { id, kind, ...rest } of events) {
    const moved = 'value' in rest && typeof rest.value === 'string' ? rest.value : null
    transcript.head = kind === 'ConversationStateUpdateEvent' ? moved : (id ?? null)
    if (id !== undefined) transcript.ids.add(id)
  }
  return events
}

const factEvents = ({ fact }: SessionFact): Event[] =>
  isQuarantined(fact) || (fact.kind === 'ConversationStateUpdateEvent' && fact.key !== 'leaf_event_id')
    ? []
    : [fact]

export const parseLines = (text: string): SessionStoreEntry[] =>
  text.split('\n').map((line) => JSON.parse(line) as SessionStoreEntry)

export const linesIn = (fact: Fact): string | null =>
  !isQuarantined(fact) &&
  fact.kind === 'ConversationStateUpdateEvent' &&
  fact.key === LINES &&
  typeof fact.value === 'string'
    ? fact.value
    : null

/** Returns an event that contains transcript lines. No view contains this event. */
export const linesEvent = (text: string, timestamp: string): Event => ({
  ...updateEvent(LINES, text),
  id: crypto.randomUUID(),
  timestamp,
})

/**
 * Returns the transcript entries in a log, and entries for other writers' events on HEAD's branch; null if
 * there are no entries. `ids` are the ids of the events that were made from entries.
 */
export function entriesOf(
  stored: readonly StoredEvent[],
  key: SessionKey,
  ids: ReadonlySet<string>,
): SessionStoreEntry[] | null {
  const others = stored.filter(({ id, fact }) => linesIn(fact) === null && !(id !== null && ids.has(id)))
  const path =
    others.length === 0 ? [] : pathTo(replay(stored.map(({ fact }) => fact))).map((entry) => entry.id)
  const onPath = new Set(path)
  const entries: SessionStoreEntry[] = []
  let pending: Event[] = []
  let before: SessionStoreEntry | undefined
  let latest: string | null = null
  const addPending = (): void => {
    entries.push(...entriesOfOthers(pending, key, before))
    pending = []
  }
  for (const { id, fact, parentId } of stored) {
    const text = linesIn(fact)
    if (text !== null) {
      addPending()
      entries.push(...parseLines(text))
    } else if (id !== null && ids.has(id)) {
      if (!isQuarantined(fact) && fact.kind !== 'ConversationStateUpdateEvent') latest = id
    } else if (!isQuarantined(fact) && id !== null && onPath.has(id)) {
      if (pending.length === 0)
        before =
          parentId !== null && ids.has(parentId) && parentId !== latest
            ? entryOf(parentId, entries)
            : entries.findLast(({ uuid }) => typeof uuid === 'string')
      pending.push(fact)
    }
  }
  addPending()
  return entries.length === 0 ? null : entries
}

/** Returns the transcript entry of the event with this id; for a reply's event, the reply's last entry. O(entries). */
function entryOf(id: string, entries: readonly SessionStoreEntry[]): SessionStoreEntry | undefined {
  const first = entries.findIndex(
    ({ uuid }) => uuid !== undefined && (id === uuid || id.startsWith(`${uuid}.`)),
  )
  const reply = replyIn(entries[first])
  if (reply === undefined) return entries[first]
  const end = entries.findIndex((entry, index) => index > first && replyIn(entry) !== reply)
  return entries[(end < 0 ? entries.length : end) - 1]
}

const replyIn = (entry: SessionStoreEntry | undefined): unknown => objectOf(entry?.['message'])['id']

/** Returns transcript entries for other writers' events: the messages for a model, without reasoning. */
function entriesOfOthers(
  events: readonly Event[],
  { projectKey, sessionId }: SessionKey,
  before: SessionStoreEntry | undefined,
): SessionStoreEntry[] {
  const state = replay(
    events.map((event) => without(event as object as JsonObject, 'parent_id') as object as Event),
  )
  // Thinking is signed for the prompt of its own request.
  const messages = toMessages(state).map((message) =>
    message.role === 'assistant' ? { ...message, thinking_blocks: [] } : message,
  )
  if (messages.length === 0) return []
  const written = toAnthropic(messages).messages
  // `toAnthropic` adds placeholders before a first reply and after a last reply. They are left out here.
  const start = messages[0]?.role === 'assistant' && written[0]?.role === 'user' ? 1 : 0
  const end = messages.at(-1)?.role === 'assistant' && written.at(-1)?.role === 'user' ? -1 : undefined
  const { cwd = '', version = '', gitBranch = '', timestamp }: Partial<SessionStoreEntry> = before ?? {}
  let parentUuid = before?.uuid ?? null
  return written.slice(start, end).map(({ role, content }, index) => {
    const uuid = uuidOf(projectKey, sessionId, events[0]?.id ?? '', String(index))
    const reply = { id: `msg_${uuid}`, type: 'message', model: '<other>', stop_reason: 'end_turn', usage: {} }
    const message = { ...(role === 'assistant' && reply), role, content }
    const fields = { isSidechain: false, userType: 'external', cwd, sessionId, version, gitBranch }
    const entry = { parentUuid, ...fields, type: role, message, uuid, ...(timestamp && { timestamp }) }
    parentUuid = uuid
    return entry
  })
}

const uuidOf = (...texts: readonly string[]): string =>
  digest(...texts).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-8$3-8$4-$5')
