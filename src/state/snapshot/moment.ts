/** The moment of an entry that a snapshot knows: what is held of it comes out, and an error for what was let go. */

import { ColloquyError } from '../../event/errors.ts'
import type { Event } from '../../event/types.ts'
import type { Entry } from '../../log/entry.ts'
import { quote } from '../../log/place.ts'
import { SkeletonEntry } from '../../log/skeleton/entry.ts'
import type { Skeleton } from '../../log/skeleton/skeleton.ts'
import { type Branch, emptyBranch } from '../branch.ts'
import type { Header } from '../header.ts'
import type { Moment } from '../state.ts'

/** What a snapshot holds beside the skeleton. */
export interface Held {
  /** The bodies of the view and of the open calls, by position. */
  readonly bodies: ReadonlyMap<number, Event>
  /** The position of HEAD, -1 for the empty HEAD. */
  readonly head: number
  /** The header right after HEAD's entry, and after the last entry. */
  readonly headHeader: Header
  readonly lastHeader: Header
  /** HEAD's branch. It is made of entries, so it comes after them. */
  branch: Branch
}

/** An entry over a skeleton, with its moment where that is held. */
export class SnapshotMoment extends SkeletonEntry implements Moment {
  readonly #held: Held

  constructor(skeleton: Skeleton, seq: number, held: Held) {
    super(skeleton, seq, held.bodies.get(seq) ?? null)
    this.#held = held
  }

  /** Whether the branch part is at hand: at HEAD and the state updates that hang on it, and where there is nothing above. */
  get isHeld(): boolean {
    const anchor = this.skeleton.anchor(this.seq)
    return anchor < 0 || anchor === this.#held.head
  }

  get branch(): Branch {
    if (!this.isHeld) throw notHeld(this)
    // A state update changes no branch, and what is out of the tree has none.
    return this.skeleton.anchor(this.seq) < 0 ? emptyBranch() : this.#held.branch
  }

  get header(): Header {
    if (this.seq === this.#held.head) return this.#held.headHeader
    if (this.seq === this.skeleton.length - 1) return this.#held.lastHeader
    throw notHeld(this)
  }
}

function notHeld({ id, seq }: Entry): ColloquyError {
  const message = `what was known at event ${quote(id)} (position ${seq}) was let go by a snapshot or compact(); fold the whole log to look there`
  return new ColloquyError('not_held', message, { event_id: id, seq })
}
