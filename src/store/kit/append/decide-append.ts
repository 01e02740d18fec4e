/** The rules of `append` for all adapters, as pure functions to call in a transaction. */

import { ColloquyError } from '../../../event/errors.ts'
import { decodedLists } from '../../../event/freeze.ts'
import { deriveEventId, ID_RULE, isLegalId, ROOT } from '../../../event/ids.ts'
import { attempt, isObject } from '../../../event/json.ts'
import { isEventKind, KINDS } from '../../../event/kinds.ts'
import { type Fact, isQuarantined } from '../../../event/quarantine.ts'
import { type Content, isTextPart, type JsonValue, SOURCES } from '../../../event/shapes.ts'
import { quote } from '../../../event/text.ts'
import { parseInstant } from '../../../event/time.ts'
import { canKindBeHead, effectiveParent, movedHead, type TreeAccess } from '../../../event/tree-rule.ts'
import type { Event } from '../../../event/types.ts'
import type { StoredEvent } from '../../contract/query.ts'
import type { AppendOptions, ExpectedVersion } from '../../contract/store.ts'
import { ownFact, sameBody } from './body.ts'
import { checkFunction, checkOptionNames, invalidArgument } from '../../../event/check-value.ts'
import { instantIn } from '../query/time-zone.ts'

/**
 * A series of entries, each the parent of the next. An entry continues its parent's lane if it can be HEAD (a
 * ConversationStateUpdateEvent cannot) and its parent is the latest earlier entry that can be HEAD. Every other
 * entry in the tree opens a lane. So between two consecutive entries of a lane, the log has only entries
 * outside the tree, and state updates, each of which has its own lane.
 */
export interface Lane {
  readonly lane: number
  readonly time: bigint
  readonly parent: LaneOrigin | null
}

/** The parent of a lane's first entry. The path to the root continues at this parent. */
export interface LaneOrigin {
  readonly lane: number
  readonly seq: number
  readonly time: bigint
}

/** A lane and the position of its last entry. */
export interface LaneEnd {
  readonly lane: number
  readonly end: number
}

/** A part of a path: the entries of a lane up to a position. */
export interface PathSegment {
  readonly lane: number
  readonly upTo: number
  readonly until: bigint
}

/** The fields of an entry that are needed to place its children in the tree. */
export interface TreeNode {
  readonly seq: number
  readonly id: string
  readonly parentId: string | null
  readonly canBeHead: boolean
  readonly lane: number
  readonly time: bigint
}

/**
 * Returns the path from a leaf to its root as segments. An entry is on the path if a segment has the entry's
 * lane, and the entry's position is not after the segment's `upTo`. O(segments).
 * @param parentOf returns the parent of a lane's first entry; null for a root
 * @example
 * const leaf = { lane: 5, seq: 8, time: 80n }
 * const segments = pathSegments(leaf, (lane) => (lane === 5 ? { lane: 0, seq: 2, time: 20n } : null))
 * segments.map(({ lane, upTo }) => [lane, upTo]) // [[5, 8], [0, 2]]
 */
export function pathSegments(leaf: LaneOrigin, parentOf: (lane: number) => LaneOrigin | null): PathSegment[] {
  const segments: PathSegment[] = []
  for (let end: LaneOrigin | null = leaf; end !== null; end = parentOf(end.lane))
    segments.push({ lane: end.lane, upTo: end.seq, until: end.time })
  return segments
}

/** The end of a log, which determines how the next entry is placed. Stored in the log's row. */
export interface LogTip {
  readonly version: number
  /** The entry that is HEAD; null if HEAD is empty. */
  readonly head: TreeNode | null
  /** Time of the last entry in microseconds since 1970; 0 for an empty log. */
  readonly time: bigint
  /** Whether times never decrease along the log. */
  readonly inOrder: boolean
  readonly lane: LaneEnd | null
}

/** The tip of an empty log. */
export const EMPTY_TIP: LogTip = Object.freeze({
  version: 0,
  head: null,
  time: 0n,
  inOrder: true,
  lane: null,
})

/** The log before an append, which a store reads in the append's transaction. */
export interface AppendContext {
  readonly conversationId: string
  readonly createdAt: string
  readonly timeZone: string | null
  readonly tip: LogTip
  /** The latest lease; null before the first lease, or after a release. */
  readonly lease: { readonly owner: string; readonly generation: number } | null
  /**
   * Returns the tree's entry with this id. Called with the ids that `idsToLoad` returns, and with the
   * `parentId` of entries that cannot be HEAD. An import also calls it with derived ids.
   */
  find(id: string): TreeNode | undefined
  /**
   * Returns the entry at a position. Called with positions of entries that `find` returned. An import with an
   * expected version also calls it with the positions of its facts.
   */
  at(seq: number): StoredEvent
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Whether a value is a quarantined line or an event of a known kind, and is valid in the fields that a store
 * needs: id, parent, time, source and message text. Never throws. O(parts of a message).
 */
export function isFact(input: unknown): input is Fact {
  try {
    if (!isObject(input) || !hasPlace(input)) return false
    if (isQuarantined(input as object as Fact)) return typeof input['raw'] === 'string'
    const { kind, timestamp, source } = input
    if (!isEventKind(kind) || !isTextOrNone(timestamp)) return false
    const from = source ?? KINDS[kind].defaultSource
    if (!SOURCES.some((one) => one === from)) return false
    if (kind !== 'MessageEvent') return true
    const { llm_message: message, extended_content: more } = input
    return isObject(message) && areParts(message['content']) && areParts(more)
  } catch {
    // A getter or a proxy threw.
    return false
  }
}

export function checkIsFact(input: unknown): void {
  if (!isFact(input)) refuse(input)
}

function checkedFact(input: Fact, live: boolean, isDecoded: boolean): Fact {
  const fact = isDecoded ? input : frozenFact(input)
  if (!isQuarantined(fact) && !KINDS[fact.kind].stored) {
    throw new ColloquyError(
      'transient_event',
      `${fact.kind} is for live readers only and is never stored. Publish it instead.`,
      { kind: fact.kind },
    )
  }
  if (fact.id === undefined ? live : !isLegalId(fact.id))
    throw new ColloquyError('invalid_id', `The id of an appended event must be ${ID_RULE}.`, { id: fact.id })
  return fact
}

function frozenFact(input: Fact): Fact {
  if (!isFact(input)) refuse(input)
  const fact = ownFact(input)
  // The copy may differ, for example because of a `toJSON` method.
  if (fact !== input && !isFact(fact)) refuse(input)
  return fact
}

function refuse(input: unknown): never {
  const message = 'An appended value must be an event of one of the 19 kinds. Decode it with `decodeEvent`.'
  throw new ColloquyError('invalid_event', message, kindOf(input))
}

/** Returns the data of an error: only the event's kind, since other fields may contain secrets (law X3). */
function kindOf(input: unknown): { readonly kind?: string } {
  const kind = attempt(() => (Object(input) as Fields)['kind'], undefined)
  return typeof kind === 'string' ? { kind } : {}
}

const isTextOrNone = (value: unknown): boolean =>
  value === undefined || value === null || typeof value === 'string'

const hasPlace = ({ id, parent_id: parent }: Fields): boolean =>
  (id === undefined || typeof id === 'string') && isTextOrNone(parent)

const areParts = (parts: unknown): boolean =>
  parts === undefined || parts === null || (Array.isArray(parts) && parts.every(isPart))

const isPart = (part: JsonValue): boolean =>
  isObject(part) && (!isTextPart(part as Content) || typeof part['text'] === 'string')

/** What an append writes and returns. If `added` is empty, nothing is written. */
export interface AppendDecision {
  readonly events: readonly StoredEvent[]
  readonly added: readonly PlacedEvent[]
  readonly opened: readonly Lane[]
  readonly tip: LogTip
}

/**
 * Decides what an append writes, as `Store.append` specifies. Read the context in the transaction that
 * writes. O(log n) for each fact; a move of HEAD to a state update reads that update's ancestors, up to the
 * nearest ancestor that can be HEAD.
 * @throws `invalid_event`, `transient_event`, `invalid_id`, `id_conflict`, `version_conflict`, `lease_lost`,
 *   `unknown_parent`, `unknown_event`, `invalid_argument` for invalid options.
 * @example
 * const none = () => undefined
 * const tip = { version: 0, head: null, time: 0n, inOrder: true, lane: null }
 * const log = { conversationId: 'c', createdAt: '', timeZone: null, tip, lease: null, find: none, at: none }
 * const { events, tip: after } = decideAppend(log, [{ kind: 'PauseEvent', id: 'a' }, { kind: 'PauseEvent', id: 'b' }])
 * events[1].fact // { kind: 'PauseEvent', id: 'b', parent_id: 'a' }
 * after.head.id // 'b'
 */
export function decideAppend(
  context: AppendContext,
  inputs: readonly Fact[],
  options: AppendOptions = {},
): AppendDecision {
  checkOptionNames(options, 'expected createdAt mode lease within')
  const { mode = 'live', expected = 'any', createdAt } = options
  const live = mode === 'live'
  if (!live && mode !== 'import') invalidArgument('mode', "must be 'live' or 'import'")
  if (!Array.isArray(inputs)) invalidArgument('facts', 'must be a list of events and quarantined lines')
  if (options.within !== undefined) checkFunction('within', options.within)
  if (expected !== 'any' && expected !== 'none' && !isVersion(expected))
    invalidArgument('expected', "must be 'any', 'none' or a number of events")
  if (createdAt !== undefined && createdAt !== context.createdAt)
    throw versionConflict(context, versionOf(expected))
  const isDecoded = decodedLists.has(inputs)
  const facts = inputs.map((fact) => checkedFact(fact, live, isDecoded))
  const known =
    mode === 'import' && expected !== 'any'
      ? byPosition(context, facts, expected)
      : byId(context, facts, live)
  // A repeated append without new facts needs neither version nor lease.
  if (known.includes(null)) {
    if (live && expected !== 'any' && versionOf(expected) !== context.tip.version)
      throw versionConflict(context, versionOf(expected))
    if (options.lease !== undefined) checkLease(context, options.lease)
  }
  const before = context.tip
  // `idsToLoad` does not contain HEAD's id, but a state update may need HEAD's node.
  const nodes = new Map(before.head === null ? [] : [[before.head.id, before.head]])
  const draft: AppendDraft = { context, live, added: [], opened: [], nodes, tip: before }
  const events: StoredEvent[] = []
  for (const [i, fact] of facts.entries()) {
    const existing = known[i] ?? null
    if (existing === null) events.push(placeNext(draft, fact))
    else events.push(typeof existing === 'number' ? (events[existing] as StoredEvent) : existing)
  }
  const { added, opened, tip } = draft
  return { events, added, opened, tip }
}

/**
 * Returns the ids that a decision may look up: the ids of the facts, of the facts' parents, and of events to
 * which the facts move HEAD. A store that loads these entries in advance must also load their ancestors, up
 * to the nearest ancestor that can be HEAD. O(facts).
 * @example
 * [...idsToLoad([{ kind: 'PauseEvent', id: 'b', parent_id: 'a' }])] // ['b', 'a']
 */
export function idsToLoad(facts: readonly Fact[]): Set<string> {
  const requested = facts
    .filter(isFact)
    .flatMap((fact): unknown[] => [
      fact.id,
      fact.parent_id,
      !isQuarantined(fact) && fact.kind === 'ConversationStateUpdateEvent' ? fact.value : null,
    ])
  return new Set(requested.filter((id): id is string => typeof id === 'string' && isLegalId(id)))
}

const isVersion = (value: unknown): boolean =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0

function checkLease(context: AppendContext, lease: NonNullable<AppendOptions['lease']>): void {
  const { owner, generation } = context.lease ?? {}
  // A database would change or reject the values of a lease that no store has granted.
  const isLease = isLegalId(lease?.owner) && isVersion(lease.generation) && lease.generation < 2 ** 31
  if (isLease && owner === lease.owner && generation === lease.generation) return
  throw new ColloquyError('lease_lost', 'The lease was released or has another owner. Stop this run.', {
    conversationId: context.conversationId,
    ...lease,
    latest: context.lease && { owner, generation },
  })
}

type Existing = StoredEvent | number | null

/** Returns, for each fact, the equal stored event, or the index of the equal earlier fact, or null for a new fact. */
function byId(context: AppendContext, facts: readonly Fact[], refuse: boolean): readonly Existing[] {
  const input = new Map<string, number>()
  return facts.map((fact, i): Existing => {
    const { id } = fact
    if (id === undefined) return null
    const before = input.get(id)
    const node = before === undefined ? context.find(id) : undefined
    if (before === undefined && node === undefined) {
      input.set(id, i)
      return null
    }
    const existing = before === undefined ? context.at((node as { seq: number }).seq) : before
    if (sameBody(typeof existing === 'number' ? (facts[existing] as Fact) : existing.fact, fact))
      return existing
    if (!refuse) return null
    throw new ColloquyError(
      'id_conflict',
      `Another event has the id ${JSON.stringify(id)}. Use another id or \`key\`.`,
      { conversationId: context.conversationId, id },
    )
  })
}

function byPosition(
  context: AppendContext,
  facts: readonly Fact[],
  expected: Exclude<ExpectedVersion, 'any'>,
): readonly Existing[] {
  const { version } = context.tip
  const base = versionOf(expected)
  if (base > version) throw versionConflict(context, base)
  return facts.map((fact, i): Existing => {
    if (base + i >= version) return null
    const stored = context.at(base + i)
    if (sameBody(stored.fact, fact)) return stored
    throw versionConflict(context, base)
  })
}

export function versionOf(expected: ExpectedVersion): number {
  return typeof expected === 'number' ? expected : 0
}

function versionConflict(context: AppendContext, expected: number): ColloquyError {
  const { conversationId, tip } = context
  return new ColloquyError(
    'version_conflict',
    `The log has ${tip.version} events, not the expected ${expected}. Read it again and retry.`,
    { conversationId, version: tip.version, expected },
  )
}

/** An event to store, with its time and tree node. */
export interface PlacedEvent {
  readonly event: StoredEvent
  readonly time: bigint
  /** The event's node in the tree; null outside the tree. */
  readonly node: TreeNode | null
}

interface AppendDraft {
  readonly context: AppendContext
  readonly live: boolean
  readonly added: PlacedEvent[]
  readonly opened: Lane[]
  readonly nodes: Map<string, TreeNode>
  tip: LogTip
}

/** Adds the next fact at the end of the log (design D7, D8, D15, D16). */
function placeNext(draft: AppendDraft, fact: Fact): StoredEvent {
  const { context, live, tip } = draft
  const { conversationId } = context
  const seq = tip.version
  const event = isQuarantined(fact) ? null : fact
  const id = fact.id ?? (event === null ? null : deriveEventId(conversationId, seq, event))
  // A live fact is new here, or it would have been deduplicated.
  const inTree = id !== null && (live || find(draft, id) === undefined)
  const known = inTree ? effectiveParent(DRAFT_TREE, draft, tip.head, fact.parent_id) : null
  if (known === undefined && live) throw unknownParent(context, fact)
  const parent = known === undefined ? tip.head : known
  const timestamp = event?.timestamp
  const instant =
    timestamp === undefined
      ? undefined
      : context.timeZone === null
        ? parseInstant(timestamp)
        : instantIn(timestamp, context.timeZone)
  const time = instant ?? tip.time
  const inOrder = tip.inOrder && (seq === 0 || time >= tip.time)
  // Every stored live event names its parent, except the first event of the log.
  const isNamed = (fact.parent_id ?? null) !== null || (tip.head === null && seq === 0)
  const body =
    live && event !== null && !isNamed ? Object.freeze({ ...event, parent_id: tip.head?.id ?? ROOT }) : fact
  const stored: StoredEvent = Object.freeze({
    conversationId,
    seq,
    id,
    fact: body,
    parentId: parent?.id ?? null,
    inTree,
    time: String(time),
  })
  const node = inTree ? treeNodeOf(draft, stored, parent, time) : null
  const isHead = node?.canBeHead === true
  const head = isHead ? node : headAfter(draft, inTree ? event : null)
  const lane = isHead ? { lane: node.lane, end: seq } : tip.lane
  if (node !== null) draft.nodes.set(node.id, node)
  draft.added.push({ event: stored, time, node })
  draft.tip = { version: seq + 1, head, time, inOrder, lane }
  return stored
}

function find(draft: AppendDraft, id: string): TreeNode | undefined {
  // A database would change an invalid id, and find another event.
  return draft.nodes.get(id) ?? (isLegalId(id) ? draft.context.find(id) : undefined)
}

const DRAFT_TREE: TreeAccess<AppendDraft, TreeNode> = {
  find,
  above: (draft, { parentId }) => (parentId === null ? null : (find(draft, parentId) ?? null)),
}

function unknownParent({ conversationId }: AppendContext, { id, parent_id }: Fact): ColloquyError {
  const parentId = parent_id ?? ''
  return new ColloquyError(
    'unknown_parent',
    `Unknown parent ${quote(parentId)}. Append it first, or omit the parent to continue from HEAD.`,
    { conversationId, id, parentId },
  )
}

function treeNodeOf(
  draft: AppendDraft,
  { seq, id, parentId, fact }: StoredEvent,
  parent: TreeNode | null,
  time: bigint,
): TreeNode {
  const canBeHead = canKindBeHead(isQuarantined(fact) ? fact.event_kind : fact.kind)
  const last = draft.tip.lane
  const lane =
    canBeHead && parent !== null && last?.lane === parent.lane && last.end === parent.seq ? parent.lane : seq
  if (lane === seq)
    draft.opened.push({
      lane,
      time,
      parent: parent && { lane: parent.lane, seq: parent.seq, time: parent.time },
    })
  return { seq, id: id as string, parentId, canBeHead, lane, time }
}

function headAfter(draft: AppendDraft, event: Event | null): TreeNode | null {
  const { head, move } = movedHead(DRAFT_TREE, draft, draft.tip.head, event)
  if (move !== 'unknown' || !draft.live || event?.kind !== 'ConversationStateUpdateEvent') return head
  throw new ColloquyError(
    'unknown_event',
    `Cannot move HEAD to ${typeof event.value === 'string' ? quote(event.value) : 'an invalid id'}: the log has no such event.`,
    { conversationId: draft.context.conversationId, id: event.value },
  )
}
