/** Long strings in memory: one text for each hash, whichever conversations have it. */

import { freezeJson } from '../../event/freeze.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { BlobAudit, BlobContent, BlobRange } from '../contract/blobs.ts'
import type { StoredEvent } from '../contract/query.ts'
import {
  blobsOf,
  checkRange,
  type Digests,
  type LargeString,
  replaceStrings,
  textContent,
  withReferences,
} from '../kit/blobs.ts'
import { digestOf } from '../../event/sha-256.ts'
import type { MemoryLog, Row } from './log.ts'

interface Held {
  readonly string: LargeString
  readonly uses: Map<MemoryLog, number>
}

export class MemoryBlobs {
  readonly #held = new Map<string, Held>()

  /** The event to keep, with the texts that are held already, and the same with references. O(values). */
  add(log: MemoryLog, event: StoredEvent, digests: Digests): Pick<Row, 'event' | 'refs'> {
    const strings = blobsOf(event.fact, digests)
    if (strings.length === 0) return { event, refs: null }
    for (const string of new Map(strings.map((one) => [one.hash, one])).values()) {
      const entry = this.#held.get(string.hash) ?? { string, uses: new Map() }
      this.#held.set(string.hash, entry)
      entry.uses.set(log, (entry.uses.get(log) ?? 0) + 1)
    }
    const textOf = ({ hash, text }: LargeString): string => this.#held.get(hash)?.string.text ?? text
    const fact = replaceStrings(event.fact as object as JsonValue, strings, textOf)
    freezeJson(fact)
    return {
      event: Object.freeze({ ...event, fact: fact as object as Fact }),
      refs: withReferences(event, strings),
    }
  }

  /** Ends the use by an event of a log. O(strings). */
  remove(log: MemoryLog, { refs }: Pick<Row, 'refs'>): void {
    for (const hash of new Set(refs?.blobs?.map((one) => one.hash))) {
      const uses = this.#held.get(hash)?.uses
      const remaining = (uses?.get(log) ?? 0) - 1
      if (remaining > 0) uses?.set(log, remaining)
      else uses?.delete(log)
      if (uses?.size === 0) this.#held.delete(hash)
    }
  }

  /** A blob of a log. @throws `invalid_argument`. */
  read(log: MemoryLog | undefined, hash: string, range?: BlobRange): BlobContent | null {
    checkRange(range)
    const entry = this.#held.get(hash)
    return entry !== undefined && log !== undefined && entry.uses.has(log)
      ? textContent(entry.string, range)
      : null
  }

  audit(rows: readonly Row[]): BlobAudit {
    const entry = [...this.#held]
    const used = new Set(rows.flatMap(({ refs }) => refs?.blobs ?? []).map(({ hash }) => hash))
    const lacking = rows.filter(({ refs }) => refs?.blobs?.some(({ hash }) => !this.#held.has(hash)))
    return {
      blobs: entry.length,
      bytes: entry.reduce((sum, [, { string }]) => sum + string.bytes, 0),
      events: rows.filter(({ refs }) => refs !== null).length,
      unused: entry.flatMap(([hash]) => (used.has(hash) ? [] : [hash])),
      damaged: entry.flatMap(([hash, { string }]) => (digestOf(string.text).hash === hash ? [] : [hash])),
      missing: lacking.map(({ event }) => ({ conversationId: event.conversationId, seq: event.seq })),
    }
  }
}
