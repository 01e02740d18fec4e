/** The decision of an append: what it asks of a log, and the lanes that it draws. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isQuarantined, type Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import type { LogTip, Lookup } from '../../src/store/lookup.ts'
import { EMPTY_TIP } from '../../src/store/lookup.ts'
import { type LaneParent, pathPieces, type Spot } from '../../src/store/path.ts'
import { askedIds, decideAppend, isFact, type Placement } from '../../src/store/placement.ts'
import type { StoredEvent } from '../../src/store/stored-event.ts'
import { hostileLog } from '../../src/testing/index.ts'

/** A log kept in the plainest way. */
class Plain {
  readonly events: StoredEvent[] = []
  readonly spots = new Map<string, Spot>()
  readonly lanes = new Map<number, { parent: LaneParent | null; end: number }>()
  tip: LogTip = EMPTY_TIP
  readonly asked: { ids: string[]; lanes: number[]; positions: number[] } = {
    ids: [],
    lanes: [],
    positions: [],
  }

  lookup(): Lookup {
    return {
      conversationId: 'c',
      timeZone: null,
      tip: this.tip,
      lease: null,
      find: (id) => (this.asked.ids.push(id), this.spots.get(id)),
      laneEnd: (lane) => (this.asked.lanes.push(lane), this.lanes.get(lane)?.end ?? -1),
      at: (seq) => (this.asked.positions.push(seq), this.events[seq] as StoredEvent),
    }
  }

  write({ added, opened, left, tip }: Placement): void {
    for (const { event, spot } of added) {
      this.events.push(event)
      if (spot !== null) this.spots.set(spot.id, spot)
    }
    for (const { lane, parent, end } of opened) this.lanes.set(lane, { parent, end })
    for (const { lane, end } of left) (this.lanes.get(lane) as { end: number }).end = end
    this.tip = tip
  }
}

const storable = (facts: readonly Fact[]): readonly Fact[] =>
  facts.filter((fact) => isQuarantined(fact) || fact.kind !== 'StreamingDeltaEvent')

const batches = () => fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 })

/** Imports a log in batches, with a look at each. */
function importAll(
  facts: readonly Fact[],
  sizes: readonly number[],
  look: (log: Plain, batch: readonly Fact[]) => void,
): Plain {
  const log = new Plain()
  for (let at = 0, i = 0; at < facts.length; i += 1) {
    const batch = facts.slice(at, at + (sizes[i % sizes.length] as number))
    look(log, batch)
    at += batch.length
  }
  return log
}

describe('a decision', () => {
  it("asks for what it announced, upwards from what is not real, and never for the end of the tip's lane", () => {
    fc.assert(
      fc.property(hostileLog(), batches(), (facts, sizes) => {
        importAll(storable(facts), sizes, (log, batch) => {
          const announced = askedIds(batch)
          for (const id of announced) {
            for (
              let spot = log.spots.get(id);
              spot !== undefined && !spot.real;
              spot = log.spots.get(spot.parentId ?? '')
            ) {
              if (spot.parentId !== null) announced.add(spot.parentId)
            }
          }
          const derived = /^derived-/
          const { head, lane } = log.tip
          const { added } = runImport(log, batch)
          expect(log.asked.ids.filter((id) => !announced.has(id) && !derived.test(id))).toEqual([])
          expect(log.asked.lanes).not.toContain(lane?.lane)
          const known = new Set([...announced].map((id) => log.spots.get(id)?.lane))
          expect(log.asked.lanes.filter((each) => !known.has(each) && each !== head?.lane)).toEqual([])
          expect(added.length).toBe(batch.length)
        })
      }),
    )
  })

  it('of a repeated append writes nothing, in any mode', () => {
    fc.assert(
      fc.property(hostileLog(), batches(), (facts, sizes) => {
        const log = importAll(storable(facts), sizes, runImport)
        const again = decideAppend(log.lookup(), storable(facts), { mode: 'import', expected: 'none' })
        expect(again).toEqual({ events: log.events, added: [], opened: [], left: [], tip: log.tip })
        const live = log.events.flatMap(({ fact, stands }) => (stands && fact.id !== undefined ? [fact] : []))
        expect(decideAppend(log.lookup(), live, { expected: 0 }).added).toEqual([])
      }),
    )
  })

  it('is the same for any batches', () => {
    fc.assert(
      fc.property(hostileLog(), batches(), (facts, sizes) => {
        const [parts, whole] = [importAll(storable(facts), sizes, runImport), new Plain()]
        runImport(whole, storable(facts))
        expect([parts.events, parts.spots, parts.tip]).toEqual([whole.events, whole.spots, whole.tip])
        const open = (log: Plain) =>
          [...log.lanes].map(([lane, { parent, end }]) => [
            lane,
            parent,
            lane === log.tip.lane?.lane ? null : end,
          ])
        expect(open(parts)).toEqual(open(whole))
      }),
    )
  })

  it('gives frozen events, whatever it was given', () => {
    const given: Event = { kind: 'ConversationStateUpdateEvent', id: 'u', key: 'k', value: { a: [1] } }
    const [event] = decideAppend(new Plain().lookup(), [given]).events
    expect(Object.isFrozen(event)).toBe(true)
    expect(Object.isFrozen((event?.fact as typeof given | undefined)?.value)).toBe(true)
  })
})

describe('lanes', () => {
  it('are chains, as few as may be, and give every path in pieces', () => {
    let branched = 0
    let pieced = 0
    fc.assert(
      fc.property(hostileLog(), batches(), (facts, sizes) => {
        const log = importAll(storable(facts), sizes, runImport)
        const entered = new Set<string>()
        for (const spot of log.spots.values()) {
          const parent = spot.parentId === null ? null : (log.spots.get(spot.parentId) as Spot)
          const goesOn = parent !== null && spot.real && !entered.has(parent.id)
          if (goesOn) entered.add(parent.id)
          expect(spot.lane).toBe(goesOn ? parent.lane : spot.seq)
          if (!goesOn) {
            const from = parent && { lane: parent.lane, seq: parent.seq, clock: parent.clock }
            expect(log.lanes.get(spot.seq)?.parent).toEqual(from)
            branched += from === null ? 0 : 1
          }
        }
        for (const spot of log.spots.values()) {
          const pieces = pathPieces(spot, (lane) => log.lanes.get(lane)?.parent ?? null)
          const byPieces = [...log.spots.values()].filter(({ lane, seq }) =>
            pieces.some((piece) => piece.lane === lane && seq <= piece.upTo),
          )
          const byParents: Spot[] = []
          for (let at: Spot | undefined = spot; at !== undefined; at = log.spots.get(at.parentId ?? ''))
            byParents.push(at)
          expect(byPieces).toEqual(byParents.toReversed())
          expect(new Set(pieces.map(({ lane }) => lane)).size).toBe(pieces.length)
          for (const { seq, lane } of byParents) {
            const until = pieces.find((piece) => piece.lane === lane)?.until as bigint
            expect((log.events[seq] as StoredEvent).time <= until).toBe(true)
          }
          pieced += pieces.length > 2 ? 1 : 0
        }
      }),
    )
    expect(branched).toBeGreaterThan(50)
    expect(pieced).toBeGreaterThan(50)
  })

  it("know their ends: that of the tip's lane from the tip, all others from their own row", () => {
    fc.assert(
      fc.property(hostileLog(), batches(), (facts, sizes) => {
        const log = importAll(storable(facts), sizes, runImport)
        const ends = new Map<number, number>()
        for (const { lane, seq } of log.spots.values()) ends.set(lane, seq)
        const { lane: tip } = log.tip
        expect(tip?.end).toBe(tip === null ? undefined : ends.get(tip.lane))
        for (const [lane, { end }] of log.lanes) if (lane !== tip?.lane) expect(end).toBe(ends.get(lane))
      }),
    )
  })
})

function runImport(log: Plain, batch: readonly Fact[]): Placement {
  log.asked.ids.length = 0
  log.asked.lanes.length = 0
  const placement = decideAppend(log.lookup(), batch, { mode: 'import', expected: log.tip.version })
  log.write(placement)
  return placement
}

describe('what is no event', () => {
  const secret = { kind: 'ThoughtEvent', id: 'a', encrypted_content: 'hidden' }

  it.each([null, undefined, 7, 'PauseEvent', [], {}, secret, { ...secret, kind: ['PauseEvent'] }])(
    '%j is refused, by an error that does not repeat it (law X3)',
    (given) => {
      expect(isFact(given)).toBe(false)
      const refused = { code: 'invalid_event', message: expect.any(String) as string }
      const append = (): unknown => decideAppend(new Plain().lookup(), [given as Fact])
      expect(append).toThrow(expect.objectContaining(refused))
      try {
        append()
      } catch (error) {
        expect(JSON.stringify((error as { readonly data: object }).data)).not.toContain('hidden')
      }
    },
  )
})
