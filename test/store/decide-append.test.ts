/** How an append is decided: what it reads of a log, and the lanes it creates. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import type { ColloquyError } from '../../src/event/errors.ts'
import { decodedList } from '../../src/event/freeze.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import {
  type AppendContext,
  type AppendDecision,
  decideAppend,
  EMPTY_TIP,
  idsToLoad,
  isFact,
  type LaneOrigin,
  type LogTip,
  pathSegments,
  type TreeNode,
} from '../../src/store/kit/append/decide-append.ts'
import type { StoredEvent } from '../../src/store/contract/query.ts'
import { storable } from '../../src/testing/conformance/facts.ts'
import { hostileLog } from '../../src/testing/index.ts'

/** The simplest possible log. */
class Plain {
  readonly events: StoredEvent[] = []
  readonly nodes = new Map<string, TreeNode>()
  readonly lanes = new Map<number, LaneOrigin | null>()
  tip: LogTip = EMPTY_TIP
  readonly requestCount: { ids: string[]; positions: number[] } = { ids: [], positions: [] }

  context(): AppendContext {
    return {
      conversationId: 'c',
      createdAt: '1970-01-01T00:00:00.000000Z',
      timeZone: null,
      tip: this.tip,
      lease: null,
      find: (id) => (this.requestCount.ids.push(id), this.nodes.get(id)),
      at: (seq) => (this.requestCount.positions.push(seq), this.events[seq] as StoredEvent),
    }
  }

  write({ added, opened, tip }: AppendDecision): void {
    for (const { event, node } of added) {
      this.events.push(event)
      if (node !== null) this.nodes.set(node.id, node)
    }
    for (const { lane, parent } of opened) this.lanes.set(lane, parent)
    this.tip = tip
  }
}

const batches = () => fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 })

function importAll(
  facts: readonly Fact[],
  sizes: readonly number[],
  look: (log: Plain, batch: readonly Fact[]) => void,
): Plain {
  const log = new Plain()
  for (let index = 0, i = 0; index < facts.length; i += 1) {
    const batch = facts.slice(index, index + (sizes[i % sizes.length] as number))
    look(log, batch)
    index += batch.length
  }
  return log
}

function refusal(list: readonly unknown[]): unknown {
  try {
    return decideAppend(new Plain().context(), list as Event[]).added.length
  } catch (error) {
    return (error as ColloquyError).code
  }
}

describe('a decision', () => {
  it('asks for what it announced, and upwards from what cannot be HEAD', () => {
    fc.assert(
      fc.property(hostileLog(), batches(), (facts, sizes) => {
        importAll(storable(facts), sizes, (log, batch) => {
          const announced = idsToLoad(batch)
          for (const id of announced) {
            for (
              let node = log.nodes.get(id);
              node !== undefined && !node.canBeHead;
              node = log.nodes.get(node.parentId ?? '')
            ) {
              if (node.parentId !== null) announced.add(node.parentId)
            }
          }
          const derived = /^derived-/
          const { added } = runImport(log, batch)
          expect(log.requestCount.ids.filter((id) => !announced.has(id) && !derived.test(id))).toEqual([])
          expect(added.length).toBe(batch.length)
        })
      }),
    )
  })

  it('of a repeated append writes nothing, in any mode', () => {
    fc.assert(
      fc.property(hostileLog(), batches(), (facts, sizes) => {
        const log = importAll(storable(facts), sizes, runImport)
        const again = decideAppend(log.context(), storable(facts), { mode: 'import', expected: 'none' })
        expect(again).toEqual({ events: log.events, added: [], opened: [], tip: log.tip })
        const live = log.events.flatMap(({ fact, inTree }) => (inTree && fact.id !== undefined ? [fact] : []))
        expect(decideAppend(log.context(), live, { expected: 0 }).added).toEqual([])
      }),
    )
  })

  it('is the same for any batches', () => {
    fc.assert(
      fc.property(hostileLog(), batches(), (facts, sizes) => {
        const [parts, whole] = [importAll(storable(facts), sizes, runImport), new Plain()]
        runImport(whole, storable(facts))
        expect([parts.events, parts.nodes, parts.tip]).toEqual([whole.events, whole.nodes, whole.tip])
        expect(parts.lanes).toEqual(whole.lanes)
      }),
    )
  })

  it('checks all events but those of a decoded list itself', () => {
    const decoded = decodeEvent({ kind: 'PauseEvent', id: 'p' })
    const event = (decoded.ok && decoded.event) as Event
    const [delta, nameless] = [
      { kind: 'StreamingDeltaEvent', id: 'd', content: 'a' },
      { kind: 'PauseEvent' },
    ] as Event[]
    const list = decodedList([event])
    expect(refusal(list)).toBe(1)
    expect(Object.isFrozen(list)).toBe(true)
    // A copy of the list has no mark.
    const unknown = { ...event, kind: 'NoEvent' }
    const copies = [[...list, unknown], list.concat(unknown as never), list.map(() => unknown)]
    for (const copy of [...copies, Object.assign([unknown, unknown], list, [unknown])])
      expect(refusal(copy as Event[])).toBe('invalid_event')
    expect(refusal(decodedList([delta]))).toBe('transient_event')
    expect(refusal(decodedList([nameless]))).toBe('invalid_id')
  })

  it('gives frozen events, whatever it was given', () => {
    const input: Event = { kind: 'ConversationStateUpdateEvent', id: 'u', key: 'k', value: { a: [1] } }
    const [event] = decideAppend(new Plain().context(), [input]).events
    expect(Object.isFrozen(event)).toBe(true)
    expect(Object.isFrozen((event?.fact as typeof input | undefined)?.value)).toBe(true)
  })
})

describe('lanes', () => {
  it('are runs of positions, as few as may be, and give every path in segments', () => {
    let branched = 0
    let pieced = 0
    fc.assert(
      fc.property(hostileLog(), batches(), (facts, sizes) => {
        const log = importAll(storable(facts), sizes, runImport)
        let last: TreeNode | null = null
        for (const node of log.nodes.values()) {
          const parent = node.parentId === null ? null : (log.nodes.get(node.parentId) as TreeNode)
          const goesOn = parent !== null && node.canBeHead && parent.seq === last?.seq
          if (node.canBeHead) last = node
          expect(node.lane).toBe(goesOn ? parent.lane : node.seq)
          if (!goesOn) {
            const from = parent && { lane: parent.lane, seq: parent.seq, time: parent.time }
            expect(log.lanes.get(node.seq)).toEqual(from)
            branched += from === null ? 0 : 1
          }
        }
        for (const node of log.nodes.values()) {
          const segments = pathSegments(node, (lane) => log.lanes.get(lane) ?? null)
          const bySegments = [...log.nodes.values()].filter(({ lane, seq }) =>
            segments.some((segment) => segment.lane === lane && seq <= segment.upTo),
          )
          const byParents: TreeNode[] = []
          for (
            let index: TreeNode | undefined = node;
            index !== undefined;
            index = log.nodes.get(index.parentId ?? '')
          )
            byParents.push(index)
          expect(bySegments).toEqual(byParents.toReversed())
          expect(new Set(segments.map(({ lane }) => lane)).size).toBe(segments.length)
          for (const { upTo, until } of segments)
            expect(BigInt((log.events[upTo] as StoredEvent).time)).toBe(until)
          pieced += segments.length > 2 ? 1 : 0
        }
      }),
    )
    expect(branched).toBeGreaterThan(50)
    expect(pieced).toBeGreaterThan(50)
  })
})

function runImport(log: Plain, batch: readonly Fact[]): AppendDecision {
  log.requestCount.ids.length = 0
  const decision = decideAppend(log.context(), batch, { mode: 'import', expected: log.tip.version })
  log.write(decision)
  return decision
}

describe('what is no event', () => {
  const secret = { kind: 'ThoughtEvent', id: 'a', encrypted_content: 'hidden' }

  it.each([null, undefined, 7, 'PauseEvent', [], {}, secret, { ...secret, kind: ['PauseEvent'] }])(
    '%j is refused, by an error that does not repeat it (law X3)',
    (input) => {
      expect(isFact(input)).toBe(false)
      const refused = { code: 'invalid_event', message: expect.any(String) as string }
      const append = (): unknown => decideAppend(new Plain().context(), [input as Fact])
      expect(append).toThrow(expect.objectContaining(refused))
      try {
        append()
      } catch (error) {
        expect(JSON.stringify((error as { readonly data: object }).data)).not.toContain('hidden')
      }
    },
  )
})
