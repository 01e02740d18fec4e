/** `decideAppend`: the ids and positions that it reads, the events that it adds, and the lanes that it opens. */

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

/** A minimal log in memory. */
class MinimalLog {
  readonly events: StoredEvent[] = []
  readonly nodes = new Map<string, TreeNode>()
  readonly lanes = new Map<number, LaneOrigin | null>()
  tip: LogTip = EMPTY_TIP
  readonly requests: { ids: string[]; positions: number[] } = { ids: [], positions: [] }

  context(): AppendContext {
    return {
      conversationId: 'c',
      createdAt: '1970-01-01T00:00:00.000000Z',
      timeZone: null,
      tip: this.tip,
      lease: null,
      find: (id) => (this.requests.ids.push(id), this.nodes.get(id)),
      at: (seq) => (this.requests.positions.push(seq), this.events[seq] as StoredEvent),
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
  appendBatch: (log: MinimalLog, batch: readonly Fact[]) => void,
): MinimalLog {
  const log = new MinimalLog()
  for (let index = 0, i = 0; index < facts.length; i += 1) {
    const batch = facts.slice(index, index + (sizes[i % sizes.length] as number))
    appendBatch(log, batch)
    index += batch.length
  }
  return log
}

function outcomeOf(list: readonly unknown[]): unknown {
  try {
    return decideAppend(new MinimalLog().context(), list as Event[]).added.length
  } catch (error) {
    return (error as ColloquyError).code
  }
}

describe('`decideAppend`', () => {
  it('reads only announced ids, derived ids, and ancestors of events that cannot be HEAD', () => {
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
          expect(log.requests.ids.filter((id) => !announced.has(id) && !derived.test(id))).toEqual([])
          expect(added.length).toBe(batch.length)
        })
      }),
    )
  })

  it('adds nothing for a repeated append in either mode', () => {
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

  it('decides equally for batches of any size', () => {
    fc.assert(
      fc.property(hostileLog(), batches(), (facts, sizes) => {
        const [parts, whole] = [importAll(storable(facts), sizes, runImport), new MinimalLog()]
        runImport(whole, storable(facts))
        expect([parts.events, parts.nodes, parts.tip]).toEqual([whole.events, whole.nodes, whole.tip])
        expect(parts.lanes).toEqual(whole.lanes)
      }),
    )
  })

  it('validates all events, except in a list marked as decoded', () => {
    const decoded = decodeEvent({ kind: 'PauseEvent', id: 'p' })
    const event = (decoded.ok && decoded.event) as Event
    const [delta, nameless] = [
      { kind: 'StreamingDeltaEvent', id: 'd', content: 'a' },
      { kind: 'PauseEvent' },
    ] as Event[]
    const list = decodedList([event])
    expect(outcomeOf(list)).toBe(1)
    expect(Object.isFrozen(list)).toBe(true)
    // A copy of the list has no mark.
    const unknown = { ...event, kind: 'NoEvent' }
    const copies = [[...list, unknown], list.concat(unknown as never), list.map(() => unknown)]
    for (const copy of [...copies, Object.assign([unknown, unknown], list, [unknown])])
      expect(outcomeOf(copy as Event[])).toBe('invalid_event')
    expect(outcomeOf(decodedList([delta]))).toBe('transient_event')
    expect(outcomeOf(decodedList([nameless]))).toBe('invalid_id')
  })

  it('returns frozen events for unfrozen input', () => {
    const input: Event = { kind: 'ConversationStateUpdateEvent', id: 'u', key: 'k', value: { a: [1] } }
    const [event] = decideAppend(new MinimalLog().context(), [input]).events
    expect(Object.isFrozen(event)).toBe(true)
    expect(Object.isFrozen((event?.fact as typeof input | undefined)?.value)).toBe(true)
  })
})

describe('lanes', () => {
  it('continue while each event follows the previous one, and make up every path in segments', () => {
    let branched = 0
    let segmented = 0
    fc.assert(
      fc.property(hostileLog(), batches(), (facts, sizes) => {
        const log = importAll(storable(facts), sizes, runImport)
        let last: TreeNode | null = null
        for (const node of log.nodes.values()) {
          const parent = node.parentId === null ? null : (log.nodes.get(node.parentId) as TreeNode)
          const continues = parent !== null && node.canBeHead && parent.seq === last?.seq
          if (node.canBeHead) last = node
          expect(node.lane).toBe(continues ? parent.lane : node.seq)
          if (!continues) {
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
          segmented += segments.length > 2 ? 1 : 0
        }
      }),
    )
    expect(branched).toBeGreaterThan(50)
    expect(segmented).toBeGreaterThan(50)
  })
})

function runImport(log: MinimalLog, batch: readonly Fact[]): AppendDecision {
  log.requests.ids.length = 0
  const decision = decideAppend(log.context(), batch, { mode: 'import', expected: log.tip.version })
  log.write(decision)
  return decision
}

describe('an invalid event', () => {
  const secret = { kind: 'ThoughtEvent', id: 'a', encrypted_content: 'hidden' }

  it.each([null, undefined, 7, 'PauseEvent', [], {}, secret, { ...secret, kind: ['PauseEvent'] }])(
    'fails with an error that does not contain it: %j (law X3)',
    (input) => {
      expect(isFact(input)).toBe(false)
      const refused = { code: 'invalid_event', message: expect.any(String) as string }
      const append = (): unknown => decideAppend(new MinimalLog().context(), [input as Fact])
      expect(append).toThrow(expect.objectContaining(refused))
      try {
        append()
      } catch (error) {
        expect(JSON.stringify((error as { readonly data: object }).data)).not.toContain('hidden')
      }
    },
  )
})
