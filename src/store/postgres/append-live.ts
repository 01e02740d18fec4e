/** A live batch goes in, and goes to the server as it is in one call; null comes out when it must be decided step by step. */

import { isLegalId, ROOT } from '../../event/ids.ts'
import { KINDS } from '../../event/kinds.ts'
import { isQuarantined, type Fact } from '../../event/quarantine.ts'
import type { Event } from '../../event/types.ts'
import type { Appended, AppendOptions } from '../append.ts'
import { ownFact, stampedBody } from '../body.ts'
import type { StoredEvent } from '../stored-event.ts'
import { hasOwnZone, instantIn } from '../zone.ts'
import type { Connection } from './connection.ts'
import { foundBy } from './event-row.ts'
import { writerValues } from './writer.ts'

/** A fact of a batch, as the server is told of it. */
interface Asked {
  readonly event: Event & { readonly id: string }
  readonly time: bigint | null
  /** Null for HEAD. */
  readonly parent: string | null
  /** Where it moves HEAD, an empty text for the empty HEAD; null when it does not. */
  readonly move: string | null
}

/** An id is taken, and the database's own index said so: another writer was faster. */
const TAKEN = ['23505']

/**
 * Appends in one round trip, or gives null and has changed nothing: for a batch that is not as usual (an event without an id, or one
 * whose id is given twice), and when the server refuses it for a reason that `decideAppend` is to find.
 */
export async function appendLive(
  connection: Connection,
  conversationId: string,
  facts: readonly Fact[],
  options: AppendOptions,
  now: bigint | null,
): Promise<Appended | null> {
  const batch = usualBatch(facts, options)
  if (batch === null) return null
  const events = batch.asked.map(({ event }) => event)
  const zoneless = events.some(({ timestamp }) => timestamp !== undefined && !hasOwnZone(timestamp))
  const writer = [conversationId, ...writerValues(options, zoneless, now)]
  const [first] = batch.asked
  const { schema } = connection
  const answers =
    batch.asked.length === 1 && first !== undefined && isPlain(first)
      ? connection.query<Answer>(ONE(schema), [...writer, ...valuesOfOne(first)], TAKEN)
      : connection.query<Answer>(MANY(schema), [...writer, ...valuesOfMany(batch)], TAKEN)
  const text = (await answers.catch(nullWhenTaken))?.[0]?.appended ?? null
  if (text === null) return null
  const [version, headId, times, parents] = JSON.parse(text) as Parts
  const base = version - events.length
  const stored = events.map((event, i): StoredEvent => {
    const parentId = parents[i] ?? null
    return Object.freeze({
      conversationId,
      seq: base + i,
      id: event.id,
      fact: stampedBody(event, parentId, base + i === 0),
      parentId,
      stands: true,
      time: BigInt(times[i] as string),
    })
  })
  return { events: stored, version, headId }
}

interface Answer {
  readonly appended: string | null
}

type Parts = readonly [
  version: number,
  headId: string | null,
  times: readonly string[],
  parents: readonly (string | null)[],
]

const parameters = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, i) => `$${from + i}`).join(', ')

const ONE = (schema: string): string => `SELECT ${schema}.append_one(${parameters(1, 12)}) AS appended`
const MANY = (schema: string): string => `SELECT ${schema}.append_many(${parameters(1, 16)}) AS appended`

function nullWhenTaken(error: unknown): null {
  if (error instanceof Error && 'code' in error && TAKEN.includes(String(error.code))) return null
  throw error
}

interface Batch {
  readonly asked: readonly Asked[]
  /** Parents and moves that must stand in the log. */
  readonly refs: ReadonlySet<string>
}

/** The batch as the server is told of it; null when the server's function does not cover it. */
function usualBatch(given: readonly Fact[], options: AppendOptions): Batch | null {
  const { mode = 'live', expected = 'any', lease } = options
  if (mode !== 'live' || given.length === 0) return null
  if (expected !== 'any' && expected !== 'none' && !isCount(expected)) return null
  if (lease !== undefined && !(isLegalId(lease.owner) && isCount(lease.generation))) return null
  const asked: Asked[] = []
  const before = new Set<string>()
  const refs = new Set<string>()
  for (const fact of given) {
    const one = usual(fact)
    if (one === null || before.has(one.event.id)) return null
    const { parent, move } = one
    if (parent !== null && parent !== ROOT && !before.has(parent)) refs.add(parent)
    if (move !== null && move !== '' && !before.has(move)) refs.add(move)
    before.add(one.event.id)
    asked.push(one)
  }
  // What names a fact that comes later in the batch names nothing that stands.
  return [...refs].some((ref) => before.has(ref) || !isLegalId(ref)) ? null : { asked, refs }
}

function usual(given: Fact): Asked | null {
  if (isQuarantined(given) || !KINDS[given.kind].stored || given.id === undefined || !isLegalId(given.id)) {
    return null
  }
  const event = ownFact(given) as Event & { readonly id: string }
  const time = event.timestamp === undefined ? undefined : instantIn(event.timestamp, null)
  const asked = { event, time: time ?? null, parent: event.parent_id ?? null, move: null }
  if (event.kind !== 'ConversationStateUpdateEvent' || event.key !== 'leaf_event_id') return asked
  if (event.value === null) return { ...asked, move: '' }
  return typeof event.value === 'string' && event.value !== '' && event.value !== ROOT
    ? { ...asked, move: event.value }
    : null
}

/** A number of events or leases that a column can hold. */
const isCount = (value: number): boolean => Number.isInteger(value) && value >= 0 && value < 2 ** 31

const isReal = ({ event }: Asked): boolean => event.kind !== 'ConversationStateUpdateEvent'

/** Whether it goes on from HEAD and becomes HEAD. */
const isPlain = (asked: Asked): boolean => isReal(asked) && asked.parent === null

function valuesOfOne({ event, time }: Asked): unknown[] {
  const { kind, source, message } = foundBy(event)
  return [event.id, time === null ? null : String(time), kind, source, message, JSON.stringify(event)]
}

function valuesOfMany({ asked, refs }: Batch): unknown[] {
  const found = asked.map(({ event }) => foundBy(event))
  return [
    asked.map(({ event }) => event.id),
    asked.map(({ time }) => (time === null ? null : String(time))),
    found.map(({ kind }) => kind),
    found.map(({ source }) => source),
    found.map(({ message }) => message),
    // JSON text has no line feed of its own, and one text is read faster than a list.
    asked.map(({ event }) => JSON.stringify(event)).join('\n'),
    asked.map(isReal),
    asked.map(({ parent }) => parent),
    asked.map(({ move }) => move),
    [...refs],
  ]
}
