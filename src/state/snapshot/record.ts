/** The state part of a snapshot: a state without its log, as plain data. */

import { freezeJson } from '../../event/freeze.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { Event, ActionEvent } from '../../event/types.ts'
import { aligned, seal, unseal, type Label, type Seal } from '../../log/columnar/sealed.ts'
import { bytesIn, Texts, int32sOf, writeTexts } from '../../log/columnar/columns.ts'
import type { Entry, EventEntry } from '../../log/entry.ts'
import type { PendingCall, PendingCallIndex, WorkingCall } from '../../log/open-calls.ts'
import { listPendingCallsIn, withOpenCall } from '../../log/open-calls.ts'
import type { ColumnarLog } from '../../log/columnar/columnar-log.ts'
import { vectorOf } from '../../log/vector.ts'
import type { MessageUnit, Unit } from '../../view/units.ts'
import { activatedSkillsIn, type Branch, type DroppedEntry } from '../branch.ts'
import type { Header } from '../header.ts'
import type { State } from '../state.ts'

/** A unit as JSON, with positions for entries. `first` is stored for summaries, and derived for other units. */
type UnitRecord =
  | readonly ['message', rank: number, seq: number, completes?: number]
  | readonly [
      'summary',
      rank: number,
      first: number,
      item: MessageUnit['item'],
      tie: number,
      summaryOf: number,
    ]
  | readonly [
      'batch',
      rank: number,
      responseId: string,
      thinking: boolean,
      onlyErrors: boolean,
      calls: readonly number[],
      results: readonly (readonly [seq: number, call: number])[],
    ]

/** A state without its log and bodies, as JSON. Entries are stored as positions; -1 means no entry. */
export interface StateRecord {
  readonly conversationId: string
  readonly length: number
  /** Number of log positions in a complete chunk of the log. `seals` has the seals of all chunks. */
  readonly size: number
  readonly seals: readonly Seal[]
  /** Creation time, which distinguishes the log from an earlier log with the same id. Empty if unknown. */
  readonly createdAt: string
  readonly header: Header
  readonly head: number
  readonly headHeader: Header
  readonly units: readonly UnitRecord[]
  readonly viewLength: number
  readonly unhandledCondensationRequest: boolean
  readonly pendingCalls: readonly (readonly [seq: number, rank: number, first: number])[]
  readonly workingCalls: readonly (readonly [seq: number, rank: number, first: number, result: number])[]
  readonly systemPrompt: number
  readonly lastUserMessage: number
  readonly skills: readonly string[]
}

type Chunks = Pick<StateRecord, 'size' | 'seals' | 'createdAt'>

export function stateRecord(state: State, { size, seals, createdAt }: Chunks): StateRecord {
  const { conversationId, header, log, branch } = state
  return {
    conversationId,
    length: log.entries.length,
    size,
    seals,
    createdAt,
    header,
    head: log.head?.seq ?? -1,
    headHeader: log.head?.header ?? header,
    units: [...branch.view.units].map(unitRecord),
    viewLength: branch.view.length,
    unhandledCondensationRequest: branch.view.unhandledCondensationRequest,
    pendingCalls: listPendingCallsIn(branch.pendingCalls).map(callRecord),
    workingCalls: listPendingCallsIn(branch.workingCalls).map((call) => [
      ...callRecord(call),
      call.result.seq,
    ]),
    systemPrompt: branch.systemPrompt?.seq ?? -1,
    lastUserMessage: branch.lastUserMessage?.seq ?? -1,
    skills: activatedSkillsIn(branch),
  }
}

const callRecord = ({ entry, rank, first }: PendingCall) => [entry.seq, rank, first] as const

function unitRecord(unit: Unit): UnitRecord {
  const { rank, first } = unit
  if (unit.type === 'message') {
    return 'seq' in unit.item
      ? unit.completes === undefined
        ? ['message', rank, (unit.item as EventEntry).seq]
        : ['message', rank, (unit.item as EventEntry).seq, unit.completes.seq]
      : ['summary', rank, first, unit.item, unit.tie ?? 0, unit.summaryOf ?? -1]
  }
  const calls = [...unit.calls].map((call) => call.seq)
  const results = [...unit.results].map(({ entry, call }) => [entry.seq, call.seq] as const)
  return ['batch', rank, unit.responseId, unit.thinking, unit.onlyErrors, calls, results]
}

/** Returns the event bodies that a branch needs, by position. O(view + pending calls). */
export function bodiesOf({
  view,
  pendingCalls,
  workingCalls,
  systemPrompt,
  lastUserMessage,
}: Branch): Map<number, Event> {
  const bodies = new Map<number, Event>()
  const add = (entry: EventEntry | null) => {
    if (entry !== null) bodies.set(entry.seq, entry.event)
  }
  for (const unit of view.units) {
    if (unit.type === 'message') {
      if ('seq' in unit.item) add(unit.item as EventEntry)
      add(unit.completes ?? null)
      continue
    }
    for (const call of unit.calls) add(call)
    for (const result of unit.results) add(result.entry)
  }
  for (const { entry } of listPendingCallsIn(pendingCalls)) add(entry)
  for (const { entry, result } of listPendingCallsIn(workingCalls)) {
    add(entry)
    add(result)
  }
  add(systemPrompt)
  add(lastUserMessage)
  return bodies
}

export function branchFrom(record: StateRecord, columns: ColumnarLog): Branch {
  // The record names only entries with a loaded body of the expected kind.
  const entryAt = <E extends Event>(seq: number) => columns.entry(seq) as EventEntry<E>
  const orNull = <E extends Event>(seq: number) => (seq < 0 ? null : entryAt<E>(seq))
  let pendingCalls: PendingCallIndex = null
  for (const [seq, rank, first] of record.pendingCalls)
    pendingCalls = withOpenCall(pendingCalls, { entry: entryAt(seq), rank, first })
  let workingCalls: PendingCallIndex<WorkingCall> = null
  for (const [seq, rank, first, result] of record.workingCalls)
    workingCalls = withOpenCall(workingCalls, { entry: entryAt(seq), rank, first, result: entryAt(result) })
  return {
    view: {
      units: vectorOf(record.units.map((unit) => placed(unitFrom(unit, entryAt), columns))),
      length: record.viewLength,
      unhandledCondensationRequest: record.unhandledCondensationRequest,
    },
    pendingCalls,
    workingCalls,
    systemPrompt: orNull(record.systemPrompt),
    lastUserMessage: orNull(record.lastUserMessage),
    skills: record.skills.length === 0 ? null : { names: record.skills, before: null },
    dropped: vectorOf(
      columns.droppedOn(record.head).map((seq): DroppedEntry => {
        const entry: Entry = columns.entry(seq)
        return { entry, reason: columns.chunkOf(seq).dropped(seq) }
      }),
    ),
  }
}

function placed(unit: Unit, columns: ColumnarLog): Unit {
  if (unit.type === 'message') {
    columns.entry(unit.summaryOf ?? (unit.item as EventEntry).seq).unit = unit
    return unit
  }
  for (const call of unit.calls) call.unit = unit
  for (const { entry } of unit.results) entry.unit = unit
  return unit
}

function unitFrom(unit: UnitRecord, entryAt: <E extends Event>(seq: number) => EventEntry<E>): Unit {
  switch (unit[0]) {
    case 'message': {
      const [type, rank, first, completed] = unit
      const completes = completed === undefined ? {} : { completes: entryAt<ActionEvent>(completed) }
      return { type, rank, first, item: entryAt(first), ...completes }
    }
    case 'summary': {
      const [, rank, first, item, tie, summaryOf] = unit
      return { type: 'message', rank, first, item, tie, summaryOf }
    }
    case 'batch': {
      const [type, rank, responseId, thinking, onlyErrors, calls, results] = unit
      const first = calls[0] ?? -1
      const entries = calls.map((seq) => entryAt<ActionEvent>(seq))
      return {
        type,
        rank,
        first,
        responseId,
        calls: vectorOf(entries),
        byCallId: entries.reduce<PendingCallIndex>(
          (index, entry) => withOpenCall(index, { entry, rank, first }),
          null,
        ),
        results: vectorOf(results.map(([seq, call]) => ({ entry: entryAt(seq), call: entryAt(call) }))),
        thinking,
        onlyErrors,
      }
    }
  }
}

/** Increment it when the fold, the header or a part's format changes, so that old snapshots do not open. */
export const FOLD_VERSION = 14

export const STATE_LABEL: Label = { kind: 1, version: FOLD_VERSION }

export const CHUNK_LABEL: Label = { kind: 2, version: FOLD_VERSION }

export const CHUNK_SIZE = 4_096

interface StatePart {
  readonly record: StateRecord
  readonly bodies: ReadonlyMap<number, Event>
  readonly lacking: readonly number[]
}

/** Serializes the state part, with bodies or only with their positions. O(view). */
export function writeStatePart(
  record: StateRecord,
  bodies: ReadonlyMap<number, Event>,
  withBodies: boolean,
): Uint8Array {
  return seal(STATE_LABEL, [
    new TextEncoder().encode(JSON.stringify(record)),
    bytesIn(Int32Array.from(bodies.keys())),
    ...writeTexts(withBodies ? [...bodies.values()].map((body) => JSON.stringify(body)) : []),
  ])
}

/** Reads a state part; null if the part is damaged, of another version, or not a state part. O(view). */
export function readStatePart(bytes: Uint8Array): StatePart | null {
  const [text, positions, ends, texts] = unseal(STATE_LABEL, aligned(bytes)) ?? []
  if (text === undefined || positions === undefined || ends === undefined || texts === undefined) return null
  const record = parse<StateRecord>(new TextDecoder().decode(text))
  const lines = new Texts(ends, texts)
  const bodies = new Map<number, Event>()
  if (lines.count === 0) return { record, bodies, lacking: [...int32sOf(positions)] }
  for (const [index, seq] of int32sOf(positions).entries()) bodies.set(seq, parse<Event>(lines.at(index)))
  return { record, bodies, lacking: [] }
}

function parse<T>(text: string): T {
  const value = JSON.parse(text) as JsonValue
  freezeJson(value)
  return value as T
}
