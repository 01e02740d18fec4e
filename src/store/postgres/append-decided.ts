/** A batch goes in, is decided here by the rules that all stores share, and is written if the log still stands as the decision found it. */

import { unknownConversation } from '../conversation-errors.ts'
import { ColloquyError } from '../../event/errors.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { Appended, AppendOptions } from '../append.ts'
import { type Placement, decideAppend } from '../placement.ts'
import type { PlacedEvent } from '../draft.ts'
import type { LogTip } from '../lookup.ts'
import type { Connection } from './connection.ts'
import { type FoundBy, foundBy } from './event-row.ts'
import { findLog, type FoundLog, isZoneless } from './log-lookup.ts'
import { writerValues } from './writer.ts'

/** How often a decision is made anew because somebody else wrote in between; each time, somebody else got on. */
const ATTEMPTS = 50

/** What became of an append, and whether it added anything. */
export interface Decided {
  readonly appended: Appended
  readonly wrote: boolean
}

/**
 * Appends in two round trips, more when others write to the same log at the same time. For imports, for events that are there already,
 * and to find out why an append cannot be made.
 *
 * @throws what `decideAppend` throws; `unknown_conversation`; `store_busy` when others kept getting in first.
 */
export async function appendDecided(
  connection: Connection,
  conversationId: string,
  facts: readonly Fact[],
  options: AppendOptions,
  now: bigint | null,
): Promise<Decided> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const found = await findLog(connection, conversationId, facts, options)
    if (found === null) throw unknownConversation(conversationId)
    const placement = decideAppend(found.lookup, facts, options)
    const { events, added, tip } = placement
    const appended = { events, version: tip.version, headId: tip.head?.id ?? null }
    const done = { appended, wrote: added.length > 0 }
    if (!done.wrote) return done
    const values = [
      conversationId,
      ...writerValues({ ...options, expected: found.lookup.tip.version }, isZoneless(facts), now),
      ...placementValues(found, placement),
    ]
    const [row] = await connection.query<{ readonly written: boolean }>(
      statement(connection.schema, values.length),
      values,
    )
    if (row?.written === true) return done
  }
  throw new ColloquyError(
    'store_busy',
    'Others kept writing to this conversation at the same time; make the call again.',
    { conversationId },
  )
}

const statement = (schema: string, count: number): string =>
  `SELECT ${schema}.write_placement(${Array.from({ length: count }, (_, i) => `$${i + 1}`).join(', ')}) AS written`

function placementValues({ createdAt, lookup }: FoundLog, placement: Placement): unknown[] {
  const { added, opened, left, tip } = placement
  const { head, lane } = tip
  return [
    createdAt,
    lookup.timeZone,
    String(tip.time),
    String(tip.clock),
    isInOrder(lookup.tip, added),
    lane?.lane ?? null,
    lane?.end ?? null,
    head?.seq ?? null,
    head?.lane ?? null,
    textOf(head?.clock),
    head?.id ?? null,
    head?.parentId ?? null,
    ...entryValues(added),
    opened.map((one) => one.lane),
    opened.map(({ parent }) => parent?.lane ?? null),
    opened.map(({ parent }) => parent?.seq ?? null),
    opened.map(({ parent }) => textOf(parent?.clock)),
    opened.map(({ end }) => end),
    left.map((one) => one.lane),
    left.map(({ end }) => end),
  ]
}

/** Whether no entry has a time before that of an earlier one. */
function isInOrder({ version, clock }: LogTip, added: readonly PlacedEvent[]): boolean {
  let latest = version === 0 ? null : clock
  for (const { event } of added) {
    if (latest !== null && event.time < latest) return false
    latest = event.time
  }
  return true
}

function entryValues(added: readonly PlacedEvent[]): unknown[] {
  const found = added.map(({ event, spot }) => (spot === null ? NOTHING : foundBy(event.fact)))
  return [
    added.map(({ spot }) => spot?.lane ?? null),
    added.map(({ event }) => String(event.time)),
    added.map(({ spot }) => textOf(spot?.clock)),
    added.map(({ spot }) => spot?.real ?? false),
    added.map(({ event }) => event.id),
    added.map(({ event }) => event.parentId),
    found.map(({ kind }) => kind),
    found.map(({ source }) => source),
    found.map(({ message }) => message),
    added.map(({ event }) => JSON.stringify(event.fact)).join('\n'),
  ]
}

/** What finds an entry that is not in the tree. */
const NOTHING: FoundBy = { kind: null, source: null, message: null }

const textOf = (value: bigint | undefined): string | null => (value === undefined ? null : String(value))
