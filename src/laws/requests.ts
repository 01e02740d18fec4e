/**
 * What a log says of requests to models: what would be sent where a model was asked, by its provider's rules, and
 * whether replies still stand behind what they record of theirs.
 */

import { quote } from '../event/text.ts'
import { type GrammarName, replyOf } from '../event/reply.ts'
import type { Event } from '../event/types.ts'
import type { Entry } from '../log/entry.ts'
import { findEventIn } from '../log/log.ts'
import type { MessageOptions, NeutralMessage } from '../messages/message.ts'
import type { Grammar } from '../messages/grammar.ts'
import { findGrammar } from '../messages/grammars.ts'
import { toMessages } from '../messages/neutral.ts'
import { type LeftOut, requestRecord } from '../messages/prefix.ts'
import { isPart } from '../messages/reply-parts.ts'
import { branchOf, type Checkpoint, type State } from '../state/state.ts'
import { askedOn, isCutOff, replyStarts } from './replies.ts'
import type { LawWatch, LogStep, Report } from './load.ts'

/** Gives what a server sends of a state. */
export type RequestWriter = (state: State, options: MessageOptions) => readonly NeutralMessage[]

/** How requests are judged. */
export interface RequestOptions {
  readonly grammars?: readonly GrammarName[]
  readonly messages?: RequestWriter
}

/** A place where a model was asked, and the first event that it replied. */
interface Place {
  readonly asked: Checkpoint | null
  readonly reply: Pick<Entry, 'id' | 'seq'>
}

/** The latest requests that are all looked at; of those before, one at each doubling of the distance. */
const LATEST = 6

/**
 * M14 and M15 of each record, and in the grammars given M1 to M3 and M16 where models were asked, and M5, M13 and M15
 * of the signed parts that would be left out at the end. O(log n) for an event; in each grammar a request is written at
 * 12 + 2 · log2(n) places at most.
 */
export function watchRequests(
  report: Report,
  { grammars = [], messages = toMessages }: RequestOptions,
): LawWatch {
  const startOf = replyStarts()
  const places: Place[] = []
  const records = new Map<object, LogStep['entry']>()
  return {
    step: (step) => {
      const { entry } = step
      checkRecord(step, report)
      const reply = replyOf(entry.event)
      if (reply !== null) records.set(reply, entry)
      const start = startOf(step)
      if (start !== null && !isCutOff(entry.event))
        places.push({ asked: start.asked, reply: { id: entry.id, seq: entry.seq } })
    },
    end: (state) => {
      const last = state.log.entries.last()
      if (last === undefined) return
      const looked = sampled([...places, { asked: state.log.head, reply: last }])
      for (const name of new Set(grammars)) {
        const grammar = findGrammar(name)
        if (grammar === undefined) continue
        for (const place of looked) checkRequest(state, place, grammar, messages, report)
        checkSigned(state, records, grammar, messages, report)
      }
    },
  }
}

/** The last few of a list, and of the others one at each doubling of the distance from the end. O(log n). */
export function sampled<T>(list: readonly T[]): T[] {
  const found: T[] = []
  for (let back = 1; back <= list.length; back = back < LATEST ? back + 1 : back * 2) {
    found.push(list[list.length - back] as T)
  }
  return found.toReversed()
}

/** M14: a record that cannot be read; M15: one that does not say where its reply stands. */
function checkRecord({ before, entry }: LogStep, report: Report): void {
  const { event } = entry
  const given = recordIn(event)
  if (given === undefined || given === null) return
  const reply = replyOf(event)
  const parts: unknown = reply?.parts
  const isGarbled = parts !== undefined && !(Array.isArray(parts) && parts.every(isPart))
  if (reply === null || isGarbled) {
    const what = reply === null ? 'is no object' : 'has parts that name nothing'
    report(
      'M14',
      entry,
      `the record of this reply ${what}; a correct server writes what a reader of replies gives`,
    )
  }
  const after: unknown = reply?.after
  if (after === undefined || after === null || after === true) return
  const named = typeof after === 'string' ? findEventIn(before.log, after) : undefined
  if (named?.canBeHead === true) return
  const what = typeof after === 'string' ? quote(after) : 'a value that is no id'
  const should = 'a correct server names the event that was under HEAD when the model was asked'
  report(
    'M15',
    entry,
    `the reply says that it was asked for at ${what}, which does not stand before it; ${should}`,
  )
}

function recordIn(event: Event): unknown {
  if (event.kind === 'ActionEvent') return (event.tool_call as { readonly reply?: unknown }).reply
  if (event.kind !== 'MessageEvent' || event.source !== 'agent') return undefined
  return (event.llm_message as { readonly reply?: unknown }).reply
}

/** The state as it is seen from an entry. */
const seenFrom = (state: State, entry: Checkpoint | null): State => ({ ...state, branch: branchOf(entry) })

/** What would be sent at a place breaks no rule of the provider. */
function checkRequest(
  state: State,
  { asked, reply }: Place,
  { law, write, rules }: Grammar,
  messages: RequestWriter,
  report: Report,
): void {
  const list = messages(seenFrom(state, asked), {})
  if (list.length === 0 || rules === null) return
  const [found] = rules(write(list))
  if (found === undefined) return
  const { rule, path, message } = found
  report(law, reply, `what would be sent here breaks the provider's rule ${rule} at ${path}: ${message}`)
}

/** Both ways in which a request may hold system prompts that were replaced. */
const SYSTEMS = ['append', 'replace'] as const

/** The signed parts that would be left out at the end, and whether their replies ever stood where they say. */
function checkSigned(
  state: State,
  records: ReadonlyMap<object, LogStep['entry']>,
  { write }: Grammar,
  messages: RequestWriter,
  report: Report,
): void {
  const tries = SYSTEMS.map((system) => {
    const list = messages(state, { system })
    const left: LeftOut[] = []
    if (list.length > 0) write(list, { onPrefix: (one) => left.push(one) })
    return { list, left }
  })
  const best = tries.toSorted((a, b) => a.left.length - b.left.length)[0]
  const suspects = (best?.left ?? []).flatMap(({ message, reason }) => {
    const said = best?.list[message]
    const reply = said?.role === 'assistant' ? said.reply : undefined
    const entry = reply === undefined ? undefined : records.get(reply)
    return entry === undefined ? [] : [{ entry, reason, prefix: reply?.prefix }]
  })
  for (const { entry } of suspects.filter(({ reason }) => reason === 'own')) {
    const should = 'a correct server keeps them byte for byte'
    report('M5', entry, `what is signed in this reply is not what its record says; ${should}`)
  }
  for (const { entry, prefix } of sampled(suspects.filter(({ reason }) => reason === 'prefix'))) {
    const asked = askedOn({ asked: askedAt(state, entry), responseId: '', isRecorded: true })
    const stood = SYSTEMS.some((system) => {
      const list = messages({ ...state, branch: asked }, { system })
      return list.length > 0 && requestRecord(write(list))?.prefix === prefix
    })
    if (stood && changedSince(state, asked)) continue
    const [law, why] = stood
      ? (['M15', 'what stands before it now is not what its model was sent'] as const)
      : ([
          'M13',
          'what the log gives is not what its model was sent, so that this was masked or cut, or the log was changed',
        ] as const)
    const should = 'a correct server appends, and changes the past by a condensation or a system prompt only'
    report(law, entry, `the signed parts of this reply can no longer be sent: ${why}; ${should}`)
  }
}

function askedAt(state: State, entry: LogStep['entry']): Checkpoint | null {
  const after: unknown = replyOf(entry.event)?.after
  if (after === null) return null
  const named = typeof after === 'string' ? findEventIn(state.log, after) : undefined
  return named ?? (entry.parent as Checkpoint | null)
}

/** Whether the past of HEAD's branch was changed on purpose since: its prompt is another, or units of it are gone. */
function changedSince({ branch }: State, asked: Checkpoint['branch']): boolean {
  if (branch.systemPrompt !== asked.systemPrompt) return true
  const left = new Set(Array.from(branch.view.units, ({ first }) => first))
  return [...asked.view.units].some(({ first }) => !left.has(first))
}
