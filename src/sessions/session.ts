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

/** A line of a file, an element of an array, or a whole document. */
export interface SessionRecord {
  /** Its number in the file, from 1. */
  readonly line: number
  /** Its text, unchanged. */
  readonly raw: string
  /** Its JSON; undefined if it is invalid. */
  readonly value: JsonValue | undefined
}

/** A record whose JSON no event can hold; its text is kept. */
export interface UnfitRecord extends SessionRecord {
  readonly value: undefined
  /** The reason, such as "JSON with a number that is too large". */
  readonly unfit: string
}

/** A fact and its line; in a document, the number of its message. */
export interface SessionFact {
  readonly line: number
  readonly fact: Fact
}

/** Records that became no event, so that nothing is omitted silently. */
export interface SessionNote {
  /** A description, such as "written twice: event_msg agent_message". */
  readonly what: string
  /** Number of records. */
  readonly count: number
  /** Line of the first one. */
  readonly line: number
}

/** How a parent started a session as a subagent. */
export interface SubagentLink {
  /** Id of the event of the parent's call; null if the file does not contain it. */
  readonly actionId: string | null
  /** 1 for a subagent of the main session. */
  readonly depth: number
}

/** A recorded session as a log. */
export interface Session {
  readonly format: SessionFormat
  /** Its id in the file; null for none. */
  readonly id: string | null
  readonly title: string | null
  /** The session that started it, or from which it was forked. */
  readonly parentId: string | null
  /** ISO 8601, unchanged; null where the file has no start time. */
  readonly createdAt: string | null
  /**
   * In the order of the log. Their ids depend only on the file, so reading it again produces the same ids.
   */
  readonly facts: readonly SessionFact[]
  readonly notes: readonly SessionNote[]
  /** Null unless another session started it as a subagent. */
  readonly subagent: SubagentLink | null
  /** The sessions in the same file: side chains and subagents. */
  readonly children: readonly Session[]
}
