/** What the user named as logs of the page: each conversation, and those that stand in the same file beside it. */

import { basename } from 'node:path'
import { type ConversationRecord, type Fact, replay, type State } from '../../index.ts'
import { redactLog, redactionRules, redactRecord } from '../../context/redaction/index.ts'
import { isQuarantined, type Loaded } from '../../event/index.ts'
import { findings } from '../../explain/index.ts'
import { type LogDocument, type LogTitle, lookOf, shownFact } from '../../inspector/index.ts'
import type { Session, SessionFact } from '../../sessions/index.ts'
import type { Recording } from '../input/recording.ts'
import { counted, plain } from '../print/text.ts'

/** The logs of a file: its own, then those of the sessions that it holds. */
export function documentsOf(recording: Recording, redact: boolean): LogDocument[] {
  const { session, file } = recording
  const title = shownText(session?.title ?? basename(file), redact)
  const name = session?.id ?? file
  const own = documentOf(
    recording,
    { title, conversation: '', name, parent: session?.parentId ?? null },
    redact,
  )
  return session === null ? [own] : [own, ...childrenOf(session, own, redact)]
}

/** The log of a stored conversation. */
export const storedDocument = (
  recording: Recording,
  record: ConversationRecord,
  redact: boolean,
): LogDocument => documentOf(recording, titleOfRecord(record, redact), redact)

/** What a list says of a stored conversation. */
export function titleOfRecord(record: ConversationRecord, redact: boolean): LogTitle {
  const { id, title, parentConversationId: parent } = redact ? redactRecord(record, redactionRules()) : record
  return { title: plain(title ?? id), conversation: id, name: id, parent }
}

function documentOf(
  recording: Recording,
  { title, conversation, name, parent }: LogTitle,
  redact: boolean,
): LogDocument {
  const { lines, session } = recording
  const given = recording.loaded.map(({ fact }) => fact)
  const facts = shownFacts(given, conversation, recording.state, redact)
  const loaded = redact ? redacted(recording.loaded, facts) : recording.loaded
  // What is found quotes names and texts: those of the facts that are shown.
  const state = redact ? replay(facts, { conversationId: conversation }) : recording.state
  return {
    title: plain(title),
    conversation,
    name,
    parent,
    lines: lines.every((line, at) => line === at + 1) ? null : lines,
    issues: loaded.flatMap(({ warnings }, seq) => warnings.map((issue) => ({ seq, issue }))),
    notes: notesOf(session, redact),
    findings: findings(state, { loaded, ...lookOf(loaded.length) }),
    facts,
  }
}

/** What was loaded, without what is secret; the texts of issues may quote it, and what stood there is left out. */
const redacted = (loaded: readonly Loaded[], facts: readonly Fact[]): Loaded[] =>
  loaded.map(({ fact, upcasts, warnings }, at) => ({
    fact: facts[at] ?? fact,
    upcasts,
    warnings: warnings.map(({ loc, msg, type }) => ({
      loc: loc.map((step) => (typeof step === 'string' ? shownText(step, true) : step)),
      msg: shownText(msg, true),
      type,
    })),
  }))

/** Sessions that stand in the file of another, each behind the one that it is of. */
function childrenOf({ children }: Session, parent: LogTitle, redact: boolean): LogDocument[] {
  return children.flatMap((child, at) => {
    const title = plain(shownText(child.title ?? child.id ?? `${parent.title}, child ${at + 1}`, redact))
    const { facts } = child
    const own: LogDocument = {
      title,
      conversation: '',
      name: child.id ?? `${parent.name}/${at}`,
      parent: parent.name,
      lines: facts.map(({ line }: SessionFact) => line),
      issues: [],
      notes: notesOf(child, redact),
      findings: null,
      facts: shownFacts(
        facts.map(({ fact }) => fact),
        '',
        null,
        redact,
      ),
    }
    return [own, ...childrenOf(child, own, redact)]
  })
}

const notesOf = (session: Session | null, redact: boolean): string[] =>
  (session?.notes ?? []).map(
    ({ what, count, line }) => `line ${line}: ${shownText(what, redact)}, ${counted(count, 'time')}`,
  )

/** A text of the session beside its facts, without what is secret. */
const shownText = (text: string, redact: boolean): string =>
  redact ? redactRecord({ title: text }, redactionRules()).title : text

/** Facts without what is secret; one that came without an id keeps the one that its log derived from all of it. */
function shownFacts(
  facts: readonly Fact[],
  conversationId: string,
  state: State | null,
  redact: boolean,
): Fact[] {
  const clean = redact ? redactLog(facts, redactionRules(), { conversationId }) : facts
  return clean.map((fact, seq) => {
    const shown = shownFact(fact)
    if (shown === fact || isQuarantined(shown) || shown.id !== undefined) return shown
    const id = state?.log.entries.get(seq)?.id ?? null
    return id === null ? shown : { ...shown, id }
  })
}
