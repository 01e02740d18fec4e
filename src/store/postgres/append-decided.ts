/**
 * The two-trip path of an append: decided here by the shared rules, and written if the log is still as the decision
 * read it.
 */

import { unknownConversation } from '../kit/errors.ts'
import { ColloquyError } from '../../event/errors.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { AppendResult, AppendOptions } from '../contract/append.ts'
import { type AppendDecision, decideAppend } from '../kit/append/decide-append.ts'
import type { PlacedEvent } from '../kit/append/place.ts'
import type { LogTip } from '../kit/append/append-context.ts'
import type { Connection } from './connection.ts'
import { type FoundBy, foundBy } from './event-row.ts'
import { codeOf, TAKEN, toStoreError } from './to-store-error.ts'
import { findLog, type FoundLog, isZoneless } from './log-context.ts'
import { writerValues } from './writer.ts'

/** How often a decision is made anew because another writer wrote in between; each time, another one got on. */
const ATTEMPTS = 50

/** What became of an append, and whether it added anything. */
export interface Decided {
  readonly appended: AppendResult
  readonly wrote: boolean
}

/**
 * Appends in two round trips, more when others write to the same log at the same time. For imports, for events that are
 * there already, and to find out why an append cannot be made.
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
  const derived = new Set<string>()
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const found = await findLog(connection, conversationId, facts, options, derived)
    if (found === null) throw unknownConversation(conversationId)
    const decision = decideAppend(found.context, facts, options)
    const { events, added, tip } = decision
    const appended = { events, version: tip.version, headId: tip.head?.id ?? null }
    const done = { appended, wrote: added.length > 0 }
    if (!done.wrote) {
      await connection.waitForStandby()
      return done
    }
    const values = [
      conversationId,
      ...writerValues({ ...options, expected: found.context.tip.version }, isZoneless(facts), now),
      ...decisionValues(found, decision),
    ]
    if (await write(connection, values, () => addDerived(derived, added))) return done
  }
  throw new ColloquyError(
    'store_busy',
    'Others kept writing to this conversation at the same time; make the call again.',
    { conversationId },
  )
}

/** Whether it was written: not where the log has changed, nor where an id is taken that `isNews` did not know of. */
async function write(connection: Connection, values: unknown[], isNews: () => boolean): Promise<boolean> {
  try {
    const [row] = await connection.query<{ readonly written: boolean }>(
      statement(connection.schema, values.length),
      values,
      TAKEN,
    )
    return row?.written === true
  } catch (error) {
    if (!TAKEN.includes(codeOf(error))) throw error
    if (isNews()) return false
    throw toStoreError(error)
  }
}

/**
 * Adds the ids that were made up for facts without one, which the log was not asked about: whether any was not among
 * them yet. Such an id goes by the position, which is known only once the log was read.
 */
function addDerived(derived: Set<string>, added: readonly PlacedEvent[]): boolean {
  const { size } = derived
  for (const { event } of added) if (event.fact.id === undefined && event.id !== null) derived.add(event.id)
  return derived.size > size
}

const statement = (schema: string, count: number): string =>
  `SELECT ${schema}.write_decision(${Array.from({ length: count }, (_, i) => `$${i + 1}`).join(', ')}) AS written`

function decisionValues({ createdAt, context }: FoundLog, decision: AppendDecision): unknown[] {
  const { added, opened, left, tip } = decision
  const { head, lane } = tip
  return [
    createdAt,
    context.timeZone,
    String(tip.time),
    String(tip.maxTime),
    isInOrder(context.tip, added),
    lane?.lane ?? null,
    lane?.end ?? null,
    head?.seq ?? null,
    head?.lane ?? null,
    textOf(head?.maxTime),
    head?.id ?? null,
    head?.parentId ?? null,
    ...entryValues(added),
    opened.map((one) => one.lane),
    opened.map(({ parent }) => parent?.lane ?? null),
    opened.map(({ parent }) => parent?.seq ?? null),
    opened.map(({ parent }) => textOf(parent?.maxTime)),
    opened.map(({ end }) => end),
    left.map((one) => one.lane),
    left.map(({ end }) => end),
  ]
}

/** Whether no entry has a time before that of an earlier one. */
function isInOrder({ version, maxTime }: LogTip, added: readonly PlacedEvent[]): boolean {
  let latest = version === 0 ? null : maxTime
  for (const { time } of added) {
    if (latest !== null && time < latest) return false
    latest = time
  }
  return true
}

function entryValues(added: readonly PlacedEvent[]): unknown[] {
  const found = added.map(({ event, node }) => (node === null ? NOTHING : findable(event.fact)))
  return [
    added.map(({ node }) => node?.lane ?? null),
    added.map(({ event }) => event.time),
    added.map(({ node }) => textOf(node?.maxTime)),
    added.map(({ node }) => node?.canBeHead ?? false),
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

/** @throws ColloquyError `invalid_event`. */
function findable(fact: Fact): FoundBy {
  const found = foundBy(fact)
  if (found !== null) return found
  throw new ColloquyError(
    'invalid_event',
    'A message to append must be one as decodeEvent gives it, with an llm_message and lists of content.',
    { id: fact.id },
  )
}

const textOf = (value: bigint | undefined): string | null => (value === undefined ? null : String(value))
