/** Compares acknowledgements with the database. */

import type pg from 'pg'
import type { ChildMessage } from './rounds.ts'

type Acknowledged = Extract<ChildMessage, readonly ['acknowledged', ...unknown[]]>

export interface CheckResult {
  /** Acknowledged names that are missing in the store, and in the table outside the store. */
  readonly lost: readonly string[]
  readonly lostRows: readonly string[]
  /** Names that appear more than once. */
  readonly duplicates: readonly string[]
}

interface Row {
  readonly conversation_id: string
  readonly name: string
}

export class Ledger {
  readonly #byRound = new Map<number, Acknowledged[]>()
  /** Names that were already reported, because a loss is permanent. */
  readonly #reported = new Set<string>()
  /** Failed calls by error code. */
  readonly failures = new Map<string, number>()

  record(text: ChildMessage): void {
    if (text[0] === 'failed') this.failures.set(text[1], (this.failures.get(text[1]) ?? 0) + 1)
    if (text[0] !== 'acknowledged') return
    const round = roundOf(text[2])
    const all = this.#byRound.get(round) ?? []
    all.push(text)
    this.#byRound.set(round, all)
  }

  count(round: number): number {
    return (this.#byRound.get(round) ?? []).length
  }

  /** Acknowledged writes of a kind that started after `instant`. */
  since(round: number, kind: string, instant: number): number {
    return (this.#byRound.get(round) ?? []).filter((each) => each[1] === kind && each[4] > instant).length
  }

  /** Time of the last acknowledgement of these kinds, in milliseconds since 1970. */
  lastAt(round: number, kinds: readonly string[]): number {
    return (this.#byRound.get(round) ?? []).findLast((each) => kinds.includes(each[1]))?.[5] ?? 0
  }

  /** Longest time after `instant` without an acknowledgement of a kind, in milliseconds. */
  gap(round: number, kind: string, instant: number): number {
    const ends = (this.#byRound.get(round) ?? [])
      .filter((each) => each[1] === kind && each[5] >= instant)
      .map((each) => each[5])
      .toSorted((a, b) => a - b)
    return Math.max(...ends.map((end, time) => end - (ends[time - 1] ?? instant)))
  }

  /** Compares the database with the acknowledgements of some rounds while nobody writes. Reports each fault once. */
  async check(client: pg.Client, rounds: readonly number[]): Promise<CheckResult> {
    const like = rounds.map((round) => `r${round}-%`)
    const events = await client.query<Row>(
      `SELECT conversation_id, source || ' ' || (body::json -> 'llm_message' -> 'content' -> 0 ->> 'text') AS name
      FROM colloquy.event JOIN colloquy.log ON number = log WHERE kind = 'MessageEvent' AND conversation_id LIKE ANY ($1)`,
      [like],
    )
    const items = await client.query<{ readonly id: string; readonly name: string }>(
      `SELECT id, body::json ->> 'name' AS name FROM colloquy.item WHERE collection = 'cluster' AND id LIKE ANY ($1)`,
      [like],
    )
    const bare = await client.query<{ readonly name: string }>(
      'SELECT name FROM bare WHERE name LIKE ANY ($1)',
      [like],
    )
    const counts = new Map<string, number>()
    for (const { conversation_id: id, name } of events.rows) {
      const key = `${id} ${name}`
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
    const itemNames = new Map(items.rows.map(({ id, name }) => [id, name]))
    const bareNames = new Set(bare.rows.map(({ name }) => name))
    const isStored = ([, kind, conversation, name]: Acknowledged): boolean => {
      if (kind === 'bare') return bareNames.has(name)
      if (kind === 'item') return numberOf(itemNames.get(conversation) ?? '-0') >= numberOf(name)
      return counts.has(`${conversation} user ${name}`)
    }
    const isNew = (name: string): boolean => !this.#reported.has(name) && this.#reported.add(name).has(name)
    const all = rounds.flatMap((round) => this.#byRound.get(round) ?? [])
    const lost = all.filter((each) => !isStored(each) && isNew(each[3]))
    return {
      lost: lost.filter((each) => each[1] !== 'bare').map((each) => each[3]),
      lostRows: lost.filter((each) => each[1] === 'bare').map((each) => each[3]),
      duplicates: [...counts].flatMap(([name, count]) => (count > 1 && isNew(name) ? [name] : [])),
    }
  }
}

type Received = Extract<ChildMessage, readonly ['seen', ...unknown[]]>

/** Differences between readers and the log of a round: extra events, and missing messages. */
export async function readDifferences(
  [, seen, disorder]: Received,
  client: pg.Client,
  round: number,
): Promise<string[]> {
  const { rows } = await client.query<{
    readonly conversation_id: string
    readonly seq: number
    readonly id: string
    readonly kind: string | null
  }>(
    'SELECT conversation_id, seq, id, kind FROM colloquy.event JOIN colloquy.log ON number = log WHERE conversation_id LIKE $1',
    [`r${round}-%`],
  )
  const log = new Map(rows.map((row) => [`${row.conversation_id} ${row.seq}`, row]))
  const result = [...disorder]
  for (const [name, entries] of Object.entries(seen)) {
    const [, conversation = ''] = name.split(' ')
    const has = new Set(entries.map(([seq]) => seq))
    for (const [seq, id] of entries)
      if (log.get(`${conversation} ${seq}`)?.id !== id)
        result.push(`${name}: ${id} at ${seq} is not in the log`)
    for (const row of rows)
      if (row.conversation_id === conversation && row.kind === 'MessageEvent' && !has.has(row.seq))
        result.push(`${name}: lacks ${row.id} at ${row.seq}`)
  }
  return result
}

const roundOf = (id: string): number => Number(/^r(\d+)-/.exec(id)?.[1] ?? 0)
const numberOf = (name: string): number => Number(name.slice(name.lastIndexOf('-') + 1))

/** The value at a quantile; NaN without values. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(part * sorted.length) - 1)] ?? NaN
}
