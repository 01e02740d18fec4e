/**
 * The fast path of an append: one round trip for what the database can place by itself. Anything unusual takes the
 * two-trip path.
 */

import type { Event } from '../../event/types.ts'
import type { AppendResult, AppendOptions } from '../contract/append.ts'
import { stampedBody } from '../kit/append/body.ts'
import type { StoredEvent } from '../contract/stored-event.ts'
import type { Connection } from './connection.ts'
import { codeOf, TAKEN } from './to-store-error.ts'
import { type Asked, isPlain, type LiveBatch } from './live-batch.ts'
import { writerValues } from './writer.ts'

/** Appends in one round trip, or gives null and has changed nothing: for a reason that `decideAppend` is to find. */
export async function appendLive(
  connection: Connection,
  conversationId: string,
  batch: LiveBatch,
  options: AppendOptions,
  now: bigint | null,
): Promise<AppendResult | null> {
  const { asked } = batch
  const zoneless = asked.some((one) => one.zoneless)
  const values = [conversationId, ...writerValues(options, zoneless, now)]
  const [first] = asked
  const isOne = asked.length === 1 && first !== undefined && isPlain(first)
  values.push(...(isOne ? valuesOfOne(first) : valuesOfMany(batch)))
  const statement = `SELECT ${connection.schema}.${isOne ? ONE : MANY} AS appended`
  const rows = await connection.query<Appended>(statement, values, TAKEN).catch(nothingWhenTaken)
  const text = rows[0]?.appended ?? null
  if (text === null) return null
  const { version, headId, times, parents } = partsOf(text, asked)
  const base = version - asked.length
  const events = asked.map(({ event }, i) =>
    storedAs(conversationId, event, base + i, { parentId: parents[i] ?? null, time: times[i] ?? '0' }),
  )
  return { events, version, headId }
}

const parameters = (count: number): string => Array.from({ length: count }, (_, i) => `$${i + 1}`).join(', ')

const ONE = `append_one(${parameters(12)})`
const MANY = `append_many(${parameters(16)})`

interface Appended {
  readonly appended: string | null
}

function nothingWhenTaken(error: unknown): readonly Appended[] {
  if (TAKEN.includes(codeOf(error))) return []
  throw error
}

interface Parts {
  readonly version: number
  readonly headId: string | null
  readonly times: readonly string[]
  readonly parents: readonly (string | null)[]
}

/** What the server says: of one event that became HEAD its place, of others everything, as JSON. */
function partsOf(text: string, asked: readonly Asked[]): Parts {
  if (text.startsWith('[')) {
    const [version, headId, times, parents] = JSON.parse(text) as [
      number,
      string | null,
      readonly string[],
      readonly (string | null)[],
    ]
    return { version, headId, times, parents }
  }
  const first = text.indexOf(' ')
  const second = text.indexOf(' ', first + 1)
  return {
    version: Number(text.slice(0, first)) + 1,
    headId: asked[0]?.event.id ?? null,
    times: [text.slice(first + 1, second)],
    parents: [text.slice(second + 1)],
  }
}

const storedAs = (
  conversationId: string,
  event: Event & { readonly id: string },
  seq: number,
  { parentId, time }: Pick<StoredEvent, 'parentId' | 'time'>,
): StoredEvent =>
  Object.freeze({
    conversationId,
    seq,
    id: event.id,
    fact: stampedBody(event, parentId, seq === 0),
    parentId,
    inTree: true,
    time,
  })

function valuesOfOne({ event, time, found, body }: Asked): unknown[] {
  const { kind, source, message } = found
  return [event.id, time === null ? null : String(time), kind, source, message, body]
}

function valuesOfMany({ asked, refs }: LiveBatch): unknown[] {
  return [
    asked.map(({ event }) => event.id),
    asked.map(({ time }) => (time === null ? null : String(time))),
    asked.map(({ found }) => found.kind),
    asked.map(({ found }) => found.source),
    asked.map(({ found }) => found.message),
    // JSON text has no line feed of its own, and one text is read faster than a list.
    asked.map(({ body }) => body).join('\n'),
    asked.map(({ canBeHead }) => canBeHead),
    asked.map(({ parent }) => parent),
    asked.map(({ move }) => move),
    refs,
  ]
}
