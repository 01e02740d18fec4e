import { KINDS } from '../../event/kinds.ts'
import { type Fact, isQuarantined } from '../../event/quarantine.ts'
import { canKindBeHead } from '../../event/tree-rule.ts'
import type { AppendOptions, AppendResult } from '../contract/store.ts'
import type { StoredEvent } from '../contract/query.ts'
import {
  type AppendContext,
  type AppendDecision,
  decideAppend,
  idsToLoad,
  type LogTip,
  type PlacedEvent,
  type TreeNode,
  versionOf,
} from '../kit/append/decide-append.ts'
import { messageText } from '../kit/query/message-text.ts'
import { formatInstant } from '../kit/record.ts'
import type { Bigint, EventRow } from '../kit/row.ts'
import { IN_ORDER, type Work } from './dialect.ts'
import type { eventReads } from './events.ts'

export interface LogRow {
  readonly number: Bigint
  readonly created_at: Bigint
  readonly time_zone: string | null
  readonly version: number
  readonly time: Bigint
  readonly in_order: number
  readonly head_id: string | null
  readonly head_parent_id: string | null
  readonly head_seq: number | null
  readonly head_lane: number | null
  readonly head_time: Bigint | null
  readonly last_lane: number | null
  readonly last_lane_end: number | null
  readonly text_version: number
  readonly lease_owner: string | null
  readonly lease_generation: number
}

/** Columns of a {@link LogRow}; instants as text, because a driver's numbers may lose precision. */
export const LOG_COLUMNS = `number, CAST(created_at AS text) AS created_at, time_zone, version, CAST(time AS text) AS time,
  in_order, head_id, head_parent_id, head_seq, head_lane, CAST(head_time AS text) AS head_time, last_lane, last_lane_end,
  text_version, lease_owner, lease_generation`

export const TIP_COLUMNS = [
  'version',
  'time',
  'in_order',
  'head_id',
  'head_parent_id',
  'head_seq',
  'head_lane',
  'head_time',
  'last_lane',
  'last_lane_end',
] as const

export const tipValues = ({ version, time, inOrder, head, lane }: LogTip, isSearchable: boolean) =>
  [
    version,
    time,
    inOrder ? (isSearchable ? IN_ORDER.all : IN_ORDER.some) : IN_ORDER.none,
    head?.id ?? null,
    head?.parentId ?? null,
    head?.seq ?? null,
    head?.lane ?? null,
    head?.time ?? null,
    lane?.lane ?? null,
    lane?.end ?? null,
  ] as const

export function searchColumns({ event: { fact }, node }: PlacedEvent) {
  if (node === null || isQuarantined(fact)) return { kind: null, source: null, message: null }
  const { kind, source } = fact
  return { kind, source: source ?? KINDS[kind].defaultSource, message: messageText(fact) }
}

export const appendResult = ({ events, tip }: AppendDecision): AppendResult => ({
  events,
  version: tip.version,
  headId: tip.head?.id ?? null,
})

/** The part of a log that was read, as the context in which appends are decided. */
export class KnownLog implements AppendContext {
  readonly conversationId: string
  readonly number: number
  readonly row: LogRow
  readonly timeZone: string | null
  tip: LogTip
  /** Number of the log's events that the text index has. */
  textVersion: number
  /** Whether searches find all facts of the log. Not stored if the log's times decrease (see `IN_ORDER`). */
  isSearchable: boolean
  lease: AppendContext['lease'] = null
  readonly #reads: ReturnType<typeof eventReads>
  /** From this position on, `#nodes` has all events of the tree. */
  knownFrom: number
  /** Tree nodes by event id; null for an id that is not in the tree. */
  readonly #nodes = new Map<string, TreeNode | null>()
  readonly #events = new Map<number, StoredEvent>()
  readonly #missingIds = new Set<string>()
  readonly #missing = new Set<number>()

  constructor(conversationId: string, row: LogRow, reads: ReturnType<typeof eventReads>) {
    this.conversationId = conversationId
    this.number = Number(row.number)
    this.row = row
    this.timeZone = row.time_zone
    this.tip = tipOf(row)
    this.knownFrom = row.version
    this.textVersion = row.text_version
    this.isSearchable = row.in_order !== IN_ORDER.some
    if (this.tip.head !== null) this.#nodes.set(this.tip.head.id, this.tip.head)
    this.#reads = reads
  }

  get createdAt(): string {
    return formatInstant(this.row.created_at)
  }

  find(id: string): TreeNode | undefined {
    if (this.tip.version === 0) return undefined
    const node = this.#nodes.get(id)
    if (node === undefined) this.#missingIds.add(id)
    return node ?? undefined
  }

  at(seq: number): StoredEvent {
    const event = this.#events.get(seq)
    if (event !== undefined) return event
    this.#missing.add(seq)
    // `decide` catches this error, loads the event and decides again.
    throw new Error('not loaded')
  }

  /**
   * Decides an append, and decides again after reading rows that the decision lacked.
   * @param isAssumed whether to assume that the ids are new, and that the writer holds its lease
   */
  *decide(facts: readonly Fact[], options: AppendOptions, isAssumed = false): Work<AppendDecision> {
    // Not checked yet: untyped input may contain null.
    for (const fact of isAssumed ? (facts as readonly (Fact | null)[]) : [])
      if (typeof fact?.id === 'string' && !this.#nodes.has(fact.id)) this.#nodes.set(fact.id, null)
    // A single fact rarely refers to another event, so loading is rarely needed.
    if (this.tip.version > 0 && facts.length > 1) yield* this.load(idsToLoad(facts))
    const { mode, expected = 'any' } = options
    const { lease_owner: owner, lease_generation: generation } = this.row
    const currentLease = owner === null ? null : { owner, generation }
    this.lease = isAssumed ? (options.lease ?? null) : currentLease
    const from = mode === 'import' && expected !== 'any' ? versionOf(expected) : this.tip.version
    const to = Math.min(this.tip.version, from + facts.length) - 1
    if (from >= 0 && to >= from && Number.isSafeInteger(from))
      this.#know(yield* this.#reads.stretch(this.conversationId, this.number, from, to))
    for (;;) {
      this.#missingIds.clear()
      this.#missing.clear()
      let decision: AppendDecision | null = null
      let failure: unknown
      try {
        decision = decideAppend(this, facts, options)
      } catch (error) {
        failure = error
      }
      if (this.#missingIds.size === 0 && this.#missing.size === 0) {
        if (decision !== null) return decision
        throw failure
      }
      yield* this.load(this.#missingIds)
      for (const seq of this.#missing)
        this.#know(yield* this.#reads.stretch(this.conversationId, this.number, seq, seq))
      for (const seq of this.#missing) if (!this.#events.has(seq)) throw new StaleLog()
    }
  }

  /**
   * Loads entries by id. For an entry that cannot be HEAD, also loads its ancestors, up to the nearest
   * ancestor that can be HEAD.
   */
  *load(ids: Iterable<string>): Work<void> {
    let missing = [...ids].filter((id) => !this.#nodes.has(id))
    while (missing.length > 0) {
      for (const id of missing) this.#nodes.set(id, null)
      const rows = (yield* this.#reads.rowsWithIds(this.conversationId, missing)).filter(
        ({ seq }) => seq < this.tip.version,
      )
      // Reads quarantined lines now, for their kinds. Reads bodies with long strings only to compare them.
      const read = rows.filter(({ blobs, kind }) => blobs === null || kind === null)
      this.#know(yield* this.#reads.events(this.conversationId, read))
      const nodes = rows.map((row) => this.#nodeOf(row))
      missing = nodes.flatMap(({ canBeHead, parentId }) =>
        canBeHead || parentId === null || this.#nodes.has(parentId) ? [] : [parentId],
      )
    }
  }

  /** Adds the decided events before they are written, so that the next append can be decided with them. */
  advance({ added, tip }: AppendDecision, fullText = false): void {
    this.isSearchable &&= added.every(({ event, node }) => node !== null && !isQuarantined(event.fact))
    if (fullText && this.textVersion === this.tip.version) this.textVersion = tip.version
    this.tip = tip
    for (const { event, node } of added) {
      if (node !== null) this.#nodes.set(node.id, node)
      this.#events.set(event.seq, event)
    }
  }

  trim(): void {
    this.#events.clear()
    if (this.#nodes.size <= MAX_KNOWN) return
    this.#nodes.clear()
    this.knownFrom = this.tip.version
    if (this.tip.head !== null) this.#nodes.set(this.tip.head.id, this.tip.head)
  }

  #nodeOf(row: EventRow): TreeNode {
    const { seq, parent_id: parentId, lane, kind, time } = row
    const fact = this.#events.get(seq)?.fact
    const bodyKind = fact === undefined ? undefined : isQuarantined(fact) ? fact.event_kind : fact.kind
    const canBeHead = canKindBeHead(kind ?? bodyKind)
    const node = { seq, id: row.id as string, parentId, canBeHead, lane: lane as number, time: BigInt(time) }
    this.#nodes.set(node.id, node)
    return node
  }

  #know(events: readonly StoredEvent[]): void {
    for (const event of events) this.#events.set(event.seq, event)
  }
}

/** The log was deleted after a part of it had been read. */
export class StaleLog extends Error {}

const MAX_KNOWN = 256

function tipOf(row: LogRow): LogTip {
  const { head_id: id, head_seq: seq, head_lane: lane, last_lane: lastLane, last_lane_end: end } = row
  return {
    version: row.version,
    head:
      id === null || seq === null || lane === null
        ? null
        : { id, seq, lane, parentId: row.head_parent_id, canBeHead: true, time: BigInt(row.head_time ?? 0) },
    time: BigInt(row.time),
    inOrder: row.in_order !== IN_ORDER.none,
    lane: lastLane === null || end === null ? null : { lane: lastLane, end },
  }
}
