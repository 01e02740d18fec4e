/** What the recorded sessions of other agents are read from, and what they become. */

import type { Fact } from '../event/quarantine.ts'
import type { JsonValue } from '../event/shapes.ts'

/** The forms that are read: files of agents, and arrays of messages as providers and user interfaces have them. */
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
  /** Its text as it stands there. */
  readonly raw: string
  /** Its JSON; undefined when it is none. */
  readonly value: JsonValue | undefined
}

/** A record whose JSON no event can hold: it is kept as its text. */
export interface UnfitRecord extends SessionRecord {
  readonly value: undefined
  /** In words, as "JSON with a number that is too large to be written back". */
  readonly unfit: string
}

/** A fact, and the line that it is from; in a document the number of the message. */
export interface SessionFact {
  readonly line: number
  readonly fact: Fact
}

/** What became of records that have no place among the events, so that nothing is left out without a word. */
export interface SessionNote {
  /** In words, as "written twice: event_msg agent_message". */
  readonly what: string
  /** How many records. */
  readonly count: number
  /** The first of them. */
  readonly line: number
}

/** A recorded session as a log. */
export interface Session {
  readonly format: SessionFormat
  /** What the file calls it; null where it has no name. */
  readonly id: string | null
  readonly title: string | null
  /** The session that it was made by or forked from. */
  readonly parentId: string | null
  /** ISO 8601, as it stands there; null where nothing says when it began. */
  readonly createdAt: string | null
  /** In the order of the log. Their ids are made from the file alone, so that reading it again gives the same. */
  readonly facts: readonly SessionFact[]
  readonly notes: readonly SessionNote[]
  /** The sessions that stand in the same file: side chains, and agents that this one has started. */
  readonly children: readonly Session[]
}
