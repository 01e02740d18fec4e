/** A log goes in, the rows that append to it come out: one durable event, and a batch of a hundred. */

import type { Event } from '../../src/event/types.ts'
import type { Ground, RowGroup } from './ground.ts'
import { freshEvents } from './log.ts'
import type { Pair } from './pair.ts'

const TARGET = 1.5

/** Events appended in one turn: so many that most turns bear a part of what the database does now and then, as a checkpoint. */
const [ONES, BATCHES] = [200, 8]

/** Appends at the end of HEAD's branch, each made durable before the next. */
export const appendRows: RowGroup = {
  title: 'append',
  rounds: 60,
  flat: true,
  pairs: async (ground) => {
    const next = freshEvents(ground.sizes)
    return [
      appendPair(ground, 'append one', ONES, 1, next),
      appendPair(ground, 'append a batch of 100, per event', BATCHES, 100, next),
    ]
  },
}

function appendPair(
  { id, length, store, floor }: Ground,
  name: string,
  calls: number,
  size: number,
  next: () => Event,
): Pair {
  let ours: Event[][] = []
  let theirs: (() => unknown)[] = []
  return {
    name,
    length,
    count: calls * size,
    target: TARGET,
    prepare() {
      ours = Array.from({ length: calls }, () => Array.from({ length: size }, next))
      theirs = ours.map((events) => floor.append(events))
    },
    async store() {
      for (const events of ours) await store.append(id, events)
    },
    async floor() {
      for (const append of theirs) await append()
    },
  }
}
