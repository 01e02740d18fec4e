/** Entries of a snapshot: what is kept of each, and the error for what has been evicted. */

import { ColloquyError } from '../../event/errors.ts'
import type { Event } from '../../event/types.ts'
import type { Entry } from '../../log/entry.ts'
import { quote } from '../../event/quote.ts'
import { ColumnarEntry } from '../../log/columnar/entry.ts'
import type { ColumnarLog } from '../../log/columnar/columnar-log.ts'
import { type Branch, emptyBranch } from '../branch.ts'
import type { Header } from '../header.ts'
import type { Checkpoint } from '../state.ts'

/** What a snapshot holds beside the columnar log. */
export interface Held {
  /** The bodies of the view and of the pending calls, by position. */
  readonly bodies: ReadonlyMap<number, Event>
  /** The position of HEAD, -1 for the empty HEAD. */
  readonly head: number
  /** The header right after HEAD's entry, and after the last entry. */
  readonly headHeader: Header
  readonly lastHeader: Header
  /** HEAD's branch. It is made of entries, so it comes after them. */
  branch: Branch
}

/** An entry over a columnar log, with its checkpoint where that is held. */
export class SnapshotEntry extends ColumnarEntry implements Checkpoint {
  readonly #held: Held

  constructor(columns: ColumnarLog, seq: number, held: Held) {
    super(columns, seq, held.bodies.get(seq) ?? null)
    this.#held = held
  }

  /**
   * Whether the branch part is in memory: at HEAD and the state updates that hang on it, and where there is nothing
   * above.
   */
  get hasBranch(): boolean {
    const anchor = this.columns.anchor(this.seq)
    return anchor < 0 || anchor === this.#held.head
  }

  get branch(): Branch {
    if (!this.hasBranch) throw evicted(this)
    // A state update changes no branch, and what is out of the tree has none.
    return this.columns.anchor(this.seq) < 0 ? emptyBranch() : this.#held.branch
  }

  /** Whether the header is: at HEAD, and after the last entry. */
  get hasHeader(): boolean {
    return this.seq === this.#held.head || this.seq === this.columns.length - 1
  }

  get header(): Header {
    if (!this.hasHeader) throw evicted(this)
    return this.seq === this.#held.head ? this.#held.headHeader : this.#held.lastHeader
  }
}

function evicted({ id, seq }: Entry): ColloquyError {
  const message = `what was known at event ${quote(id)} (position ${seq}) was evicted by a snapshot or evict(); fold the whole log to look there`
  return new ColloquyError('evicted', message, { event_id: id, seq })
}
