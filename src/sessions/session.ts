/** Input and output of reading the recorded sessions of other agents. */

import type { Fact } from '../event/quarantine.ts'
import type { JsonValue } from '../event/shapes.ts'

/** The supported formats: files of agents, and arrays of messages of providers and user interfaces. */
export const SESSION_FORMATS = [
  'claude-code',
  'codex',
  'pi',
  'gemini-cli',
  'atif',
  'ui-messages',
  'anthropic',
  'openai-chat',
  'openai-responses',
] as const

export type SessionFormat = (typeof SESSION_FORMATS)[number]

/** One record of a session: a line of a file, an element of an array, or a whole document. */
export interface SessionRecord {
  readonly line: number
  readonly raw: string
  readonly value: JsonValue | undefined
}

/** A record whose JSON no event can hold; its text is kept. */
export interface UnfitRecord extends SessionRecord {
  readonly value: undefined
  readonly unfit: string
}

/** A fact and its line; in a document, the number of its message. */
export interface SessionFact {
  readonly line: number
  readonly fact: Fact
}

/** Records that became no event, so that nothing is omitted silently. */
export interface SessionNote {
  readonly what: string
  readonly count: number
  readonly line: number
}

export interface SubagentLink {
  /** Id of the event of the parent's call; null if the file does not contain it. */
  readonly actionId: string | null
  /** 1 for a subagent of the main session. */
  readonly depth: number
}

/** A recorded session as a log. */
export interface Session {
  readonly format: SessionFormat
  readonly id: string | null
  readonly title: string | null
  /** The session that started it, or from which it was forked. */
  readonly parentId: string | null
  /** ISO 8601, unchanged; null where the file has no start time. */
  readonly createdAt: string | null
  /** In the order of the log. Ids depend only on the file, so reading it again returns the same ids. */
  readonly facts: readonly SessionFact[]
  readonly notes: readonly SessionNote[]
  readonly subagent: SubagentLink | null
  readonly children: readonly Session[]
}
