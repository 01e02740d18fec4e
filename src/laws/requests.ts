/** Writes requests from a log, and checks them against the provider's rules and the recorded prefix. */

import { quote } from '../event/text.ts'
import { type GrammarName, replyOf } from '../event/reply.ts'
import type { Event } from '../event/types.ts'
import type { Entry } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import type { MessageOptions, NeutralMessage } from '../messages/message.ts'
import type { Grammar } from '../messages/grammar.ts'
import { grammarNamed } from '../messages/grammars.ts'
import { toMessages } from '../messages/neutral.ts'
import { type LeftOut, requestRecord } from '../messages/prefix.ts'
import { isPart } from '../messages/reply-parts.ts'
import { branchOf, type Checkpoint, type State } from '../state/state.ts'
import { headOfRequest, isCutOff, replyStarts } from './replies.ts'
import type { LawWatch, LogStep, Report } from './load.ts'

/** Returns the messages of the model request for a state. */
export type RequestWriter = (state: State, options: MessageOptions) => readonly NeutralMessage[]

/** Number of latest requests that are all checked. Of the earlier requests, only some are checked (`sampled`). */
const LATEST = 6

/**
 * Checks laws M14 and M15 for each reply record, the grammar's law (such as M3) for each request, and M5, M13
 * and M15 for signed parts that the next request omits. Writes at most 13 + 3 · log2(n) requests per grammar.
 */
export function watchRequests(
  report: Report,
  { grammars = [], messages = toMessages }: { grammars?: readonly GrammarName[]; messages?: RequestWriter },
): LawWatch {
  const chosen = Array.from(new Set(grammars), grammarNamed)
  const startOf = replyStarts()
  const points: { readonly head: Checkpoint | null; readonly reply: Entry }[] = []
  const records = new Map<object, LogStep['entry']>()
  return {
    step: (step) => {
      const { entry } = step
      checkRecord(step, report)
      const reply = replyOf(entry.event)
      if (reply !== null) records.set(reply, entry)
      const start = startOf(step)
      if (start !== null && !isCutOff(entry.event)) points.push({ head: start.head, reply: entry })
    },
    end: (state) => {
      const last = state.log.entries.last()
      if (last === undefined) return
      const checked = sampled([...points, { head: state.log.head, reply: last }])
      for (const grammar of chosen) {
        for (const { head, reply } of checked) {
          const list = messages({ ...state, branch: branchOf(head) }, {})
          const [violation] = list.length === 0 ? [] : (grammar.rules?.(grammar.write(list)) ?? [])
          if (violation === undefined) continue
          const { rule, path, message } = violation
          const what = `the request here breaks the provider's rule ${rule} at ${path}: ${message}`
          report(grammar.law, reply, what)
        }
        checkSigned(state, records, grammar, messages, report)
      }
    },
  }
}

/** Returns the last six items, and earlier items at doubling distances from the end. */
export function sampled<T>(list: readonly T[]): T[] {
  const items: T[] = []
  for (let back = 1; back <= list.length; back = back < LATEST ? back + 1 : back * 2)
    items.push(list[list.length - back] as T)
  return items.toReversed()
}

/** Checks that a reply's record is readable (M14) and names an earlier event as HEAD (M15). */
function checkRecord({ before, entry }: LogStep, report: Report): void {
  const { event } = entry
  const record = recordIn(event)
  if (record === undefined || record === null) return
  const reply = replyOf(event)
  const parts: unknown = reply?.parts
  const isGarbled = parts !== undefined && !(Array.isArray(parts) && parts.every(isPart))
  if (reply === null || isGarbled) {
    const what = reply === null ? 'is not an object' : 'has invalid parts'
    report(
      'M14',
      entry,
      `the record of this reply ${what}; a correct server writes the record that a reader such as fromAnthropic returns`,
    )
  }
  const after: unknown = reply?.after
  if (after === undefined || after === null || after === true) return
  const named = typeof after === 'string' ? findEventIn(before.log, after) : undefined
  if (named?.canBeHead === true) return
  const what = typeof after === 'string' ? quote(after) : 'a value that is not an id'
  const should = 'a correct server records the event that was HEAD when it called the model'
  report('M15', entry, `the reply records a request at ${what}, which is not an earlier event; ${should}`)
}

function recordIn(event: Event): unknown {
  if (event.kind === 'ActionEvent') return (event.tool_call as { readonly reply?: unknown }).reply
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return undefined
  return (event.llm_message as { readonly reply?: unknown }).reply
}

const SYSTEMS = ['append', 'replace'] as const

/** Reports signed parts that the next request omits because the reply (M5) or its prefix (M13, M15) has changed. */
function checkSigned(
  state: State,
  records: ReadonlyMap<object, LogStep['entry']>,
  { write }: Grammar,
  messages: RequestWriter,
  report: Report,
): void {
  const tries = SYSTEMS.map((system) => {
    const list = messages(state, { system })
    const leftOut: LeftOut[] = []
    if (list.length > 0) write(list, { onPrefix: (one) => leftOut.push(one) })
    return { list, left: leftOut }
  })
  const best = tries.toSorted((a, b) => a.left.length - b.left.length)[0]
  const suspects = (best?.left ?? []).flatMap(({ message, reason }) => {
    const sent = best?.list[message]
    const reply = sent?.role === 'assistant' ? sent.reply : undefined
    const entry = reply === undefined ? undefined : records.get(reply)
    return entry === undefined || reply === undefined ? [] : [{ entry, reason, reply }]
  })
  for (const { entry } of suspects.filter(({ reason }) => reason === 'reply')) {
    const should = 'a correct server keeps them byte for byte'
    report('M5', entry, `the signed parts of this reply do not match its record; ${should}`)
  }
  for (const { entry, reply } of sampled(suspects.filter(({ reason }) => reason === 'prefix'))) {
    const branch = branchOf(headOfRequest(state, entry))
    const { prefix, tools: toolDigest, model, requested_model: requested = model } = reply
    const options = {
      ...(typeof toolDigest === 'string' && { toolDigest }),
      ...(typeof requested === 'string' && { model: requested }),
    }
    const madeWith = (system: (typeof SYSTEMS)[number]) => {
      const list = messages({ ...state, branch }, { system })
      const record = list.length > 0 ? requestRecord(write(list, options)) : null
      return record?.prefix === prefix ? record : null
    }
    const made = madeWith('append') ?? madeWith('replace')
    // The model's request left out parts of another model or tool list, but the requests in `tries` have them.
    if (made?.leftOut.some(({ reason }) => reason === 'model' || reason === 'tools') === true) continue
    const wasValid = made !== null
    if (wasValid && changedSince(state, branch)) continue
    const [law, why] = wasValid
      ? (['M15', 'the log before it no longer matches the request that its model received'] as const)
      : ([
          'M13',
          'the log does not match the request that its model received: the request was masked or cut, or the log was changed',
        ] as const)
    const should = 'a correct server appends, and changes the past only by a condensation or a system prompt'
    report(law, entry, `the signed parts of this reply can no longer be sent: ${why}; ${should}`)
  }
}

/** Whether HEAD's branch was changed on purpose: its prompt was replaced, or units were removed. */
function changedSince({ branch }: State, past: Checkpoint['branch']): boolean {
  if (branch.systemPrompt !== past.systemPrompt) return true
  const remaining = new Set(Array.from(branch.view.units, ({ first }) => first))
  return [...past.view.units].some(({ first }) => !remaining.has(first))
}
