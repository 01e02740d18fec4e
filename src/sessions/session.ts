import type { Fact } from '../event/quarantine.ts'
import type { JsonValue } from '../event/shapes.ts'

/** The formats that can be read: session files of agents, and message arrays of providers and user interfaces. */
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

/** Name of a format of recorded sessions. */
export type SessionFormat = (typeof SESSION_FORMATS)[number]

/** One record of a file: a line, an element of an array, or the whole document. */
export interface SessionRecord {
  readonly line: number
  readonly raw: string
  readonly value: JsonValue | undefined
}

/** A record whose JSON no event can contain. The record's text is kept instead. */
export interface UnfitRecord extends SessionRecord {
  readonly value: undefined
  readonly unfit: string
}

/** A fact, and where it was read: the number of the line, or of the message in a document. */
export interface SessionFact {
  readonly line: number
  readonly fact: Fact
}

/** Something that the log omits or contains only in part: its name, count and first line in the file. */
export interface SessionNote {
  readonly what: string
  readonly count: number
  readonly line: number
}

/** Link from the session of a subagent to the parent session. */
export interface SubagentLink {
  /** Id of the parent's ActionEvent that started the subagent; null if the file does not contain it. */
  readonly actionId: string | null
  /** 1 for a subagent of the main session, 2 for a subagent of that subagent, and so on. */
  readonly depth: number
}

/** A recorded session, read as a log. */
export interface Session {
  readonly format: SessionFormat
  readonly id: string | null
  readonly title: string | null
  /** Id of the session that started this session, or from which this session was forked. */
  readonly parentId: string | null
  /** Start time of the session as the file writes it, in ISO 8601; null if the file has no start time. */
  readonly createdAt: string | null
  /** The log. Ids depend only on the file: reading it again returns the same ids. */
  readonly facts: readonly SessionFact[]
  readonly notes: readonly SessionNote[]
  readonly subagent: SubagentLink | null
  readonly children: readonly Session[]
}
