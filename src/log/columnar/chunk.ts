import type { DropReason, Entry, LogWarning } from '../entry.ts'
import { callIdOf, eventKindOf, kindOf, NO_WARNINGS, responseIdOf } from '../entry.ts'
import type { Key, KeyColumn } from './columns.ts'
import { writeKeys, bytesIn, writeTimes, KEY_SECTIONS, readKeys, int32sOf, Times } from './columns.ts'
import { type Label, type Seal, seal, aligned, sealOf, unseal } from './sealed.ts'
import { EVENT_KINDS, KINDS } from '../../event/kinds.ts'

interface RareFacts {
  readonly kinds: ReadonlyMap<number, string>
  readonly warnings: readonly LogWarning[]
  readonly warningsAt: ReadonlyMap<number, readonly LogWarning[]>
}

function readRare(text: Uint8Array): RareFacts {
  const { kinds, warnings } =
    text.length === 0
      ? ({ kinds: [], warnings: [] } satisfies Rare)
      : (JSON.parse(new TextDecoder().decode(text)) as Rare)
  return { kinds: new Map(kinds), warnings, warningsAt: Map.groupBy(warnings, (report) => report.seq) }
}

/** A part of a columnar log. Its methods expect log positions that the chunk contains. */
export class Chunk {
  readonly bytes: Uint8Array
  readonly first: number
  readonly count: number
  readonly size: number
  readonly dropCount: number
  readonly ids: KeyColumn
  readonly callIds: KeyColumn
  readonly responseIds: KeyColumn
  readonly #parents: Int32Array
  readonly #depths: Int32Array
  readonly #jumps: Int32Array
  readonly #above: Int32Array
  readonly #flags: Uint8Array
  readonly #codes: Uint8Array
  readonly #times: Times
  readonly #rareText: Uint8Array
  #rare: RareFacts | null = null

  private constructor(bytes: Uint8Array, sections: readonly Uint8Array[]) {
    const none = new Uint8Array(0)
    const words = (index: number) => int32sOf(sections[index] ?? none)
    const [first = 0, count = 0, size = 0, dropCount = 0] = words(0)
    this.bytes = bytes
    this.first = first
    this.count = count
    this.size = size
    this.dropCount = dropCount
    this.#parents = words(1)
    this.#depths = words(2)
    this.#jumps = words(3)
    this.#above = words(4)
    this.#flags = sections[5] ?? none
    this.#codes = sections[6] ?? none
    this.#times = new Times(count, sections[7] ?? none, sections[8] ?? none)
    this.#rareText = sections[9] ?? none
    const [ids, callIds, responseIds] = [0, 1, 2].map((n) =>
      readKeys(sections.slice(PLAIN_SECTIONS + n * KEY_SECTIONS)),
    )
    this.ids = ids as KeyColumn
    this.callIds = callIds as KeyColumn
    this.responseIds = responseIds as KeyColumn
  }

  /** Opens a chunk; null if the bytes are damaged, of another version, or not a chunk. O(bytes). */
  static open(label: Label, bytes: Uint8Array): Chunk | null {
    const block = aligned(bytes)
    const sections = unseal(label, block)
    return sections?.length === SECTIONS ? new Chunk(block, sections) : null
  }

  get seal(): Seal {
    return sealOf(this.bytes)
  }

  parent(seq: number): number {
    return this.#parents[seq - this.first] as number
  }

  depth(seq: number): number {
    return this.#depths[seq - this.first] as number
  }

  jump(seq: number): number {
    return this.#jumps[seq - this.first] as number
  }

  above(seq: number): number {
    return this.#above[seq - this.first] as number
  }

  inTree(seq: number): boolean {
    return this.#has(seq, IN_TREE)
  }

  canBeHead(seq: number): boolean {
    return this.#has(seq, CAN_BE_HEAD)
  }

  isEvent(seq: number): boolean {
    return this.#has(seq, IS_EVENT)
  }

  dropped(seq: number): DropReason | null {
    if (this.#has(seq, DROPPED_SECOND)) return 'duplicate_result'
    return this.#has(seq, DROPPED_ORPHAN) ? 'orphan_result' : null
  }

  kind(seq: number): string | null {
    const code = this.#codes[seq - this.first] as number
    if (code !== OTHER_KIND) return kindFrom(code)
    return this.#rareFacts().kinds.get(seq) ?? null
  }

  timestamp(seq: number): string | null {
    return this.#times.at(seq - this.first)
  }

  warnings(seq: number): readonly LogWarning[] {
    return this.#has(seq, HAS_REPORTS) ? (this.#rareFacts().warningsAt.get(seq) ?? NO_WARNINGS) : NO_WARNINGS
  }

  allWarnings(): readonly LogWarning[] {
    return this.#rareFacts().warnings
  }

  #has(seq: number, flag: number): boolean {
    return ((this.#flags[seq - this.first] as number) & flag) !== 0
  }

  #rareFacts(): RareFacts {
    this.#rare ??= readRare(this.#rareText)
    return this.#rare
  }
}

const IN_TREE = 1
const CAN_BE_HEAD = 2
const IS_EVENT = 4
const HAS_REPORTS = 8
const DROPPED_SECOND = 16
const DROPPED_ORPHAN = 32

/** `NO_KIND`: the entry has no kind. `OTHER_KIND`: the kind is unknown, and its name is stored separately. */
const NO_KIND = 0
const OTHER_KIND = 255

const PLAIN_SECTIONS = 10
const SECTIONS = PLAIN_SECTIONS + 3 * KEY_SECTIONS

const CODES = new Map<string, number>(EVENT_KINDS.map((kind) => [kind, KINDS[kind].code]))
const KINDS_BY_CODE = new Map<number, string>(EVENT_KINDS.map((kind) => [KINDS[kind].code, kind]))

export const kindCode = (kind: string | null): number =>
  kind === null ? NO_KIND : (CODES.get(kind) ?? OTHER_KIND)

export const kindFrom = (code: number): string | null => KINDS_BY_CODE.get(code) ?? null

interface Rare {
  readonly kinds: readonly (readonly [number, string])[]
  readonly warnings: readonly LogWarning[]
}

/** Serializes a chunk. @param reasonOf returns why a tool result was dropped; null for all other entries */
export function writeChunk(
  label: Label,
  { first, size }: { readonly first: number; readonly size: number },
  entries: readonly Entry[],
  reasonOf: (entry: Entry) => DropReason | null,
): Uint8Array {
  const reasons = entries.map(reasonOf)
  const numbers = (of: (entry: Entry) => number) =>
    bytesIn(column(new Int32Array(entries.length), entries, of))
  const keys = (of: (entry: Entry) => string | null, once = false) => {
    const list: Key[] = []
    let last: string | null = null
    for (const entry of entries) {
      const text = of(entry)
      if (text === null || (once && text === last)) continue
      list.push({ seq: entry.seq, text })
      last = text
    }
    return writeKeys(list)
  }
  const dropCount = reasons.filter((reason) => reason !== null).length
  return seal(label, [
    bytesIn(Int32Array.of(first, entries.length, size, dropCount)),
    numbers((entry) => entry.parent?.seq ?? NO_ENTRY),
    numbers((entry) => entry.depth),
    numbers((entry) => entry.jump?.seq ?? NO_ENTRY),
    numbers((entry) => entry.above?.seq ?? NO_ENTRY),
    column(new Uint8Array(entries.length), entries, (entry, index) => flagsOf(entry, reasons[index] ?? null)),
    column(new Uint8Array(entries.length), entries, (entry) => kindCode(kindOf(entry))),
    ...writeTimes(entries.map((entry) => entry.timestamp)),
    new TextEncoder().encode(encodeRare(entries)),
    ...keys((entry) => entry.id),
    ...keys(callIdOf),
    // One key for each sequence of actions with the same response is enough to find the response.
    ...keys(responseIdOf, true),
  ])
}

const NO_ENTRY = -1

/** Fills a column. `Int32Array.from` with a function is ten times slower. */
function column<L extends Int32Array | Uint8Array>(
  list: L,
  entries: readonly Entry[],
  of: (entry: Entry, index: number) => number,
): L {
  for (const [index, entry] of entries.entries()) list[index] = of(entry, index)
  return list
}

const flagsOf = (entry: Entry, dropped: DropReason | null): number =>
  (entry.inTree ? IN_TREE : 0) |
  (entry.canBeHead ? CAN_BE_HEAD : 0) |
  (eventKindOf(entry) === null ? 0 : IS_EVENT) |
  (entry.warnings.length > 0 ? HAS_REPORTS : 0) |
  (dropped === 'duplicate_result' ? DROPPED_SECOND : 0) |
  (dropped === 'orphan_result' ? DROPPED_ORPHAN : 0)

function encodeRare(entries: readonly Entry[]): string {
  const kinds = entries.flatMap((entry) => {
    const kind = kindOf(entry)
    return kindCode(kind) === OTHER_KIND ? [[entry.seq, kind ?? ''] as const] : []
  })
  const warnings = entries.flatMap((entry) => entry.warnings)
  return kinds.length + warnings.length === 0 ? '' : JSON.stringify({ kinds, warnings } satisfies Rare)
}
