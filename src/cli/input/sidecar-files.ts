/** What stands beside the event files of a persisted conversation, and which names are which. */

/**
 * The documents of a conversation: those of agent servers, and the one in which this program keeps what has no place in
 * them.
 */
export const DOCUMENTS = ['meta.json', 'base_state.json', 'colloquy.json'] as const

/** The name of a document. */
export type DocumentName = (typeof DOCUMENTS)[number]

/** What is known of a conversation beside its events. */
export interface SidecarFiles {
  /** The name of its folder, which agent servers call by the conversation's id; null where there is none. */
  readonly folder: string | null
  /** The bytes of the documents that are there. */
  readonly documents: Readonly<Partial<Record<DocumentName, Buffer>>>
  /** Names that are neither event files nor documents. */
  readonly ignored: readonly string[]
}

/** Agent servers write `event-00000-<id>.json`, the hosted service `event_000000_<id>.json`. */
const EVENT_FILE = /^event([-_])(\d{5}\d*)\1.+\.json$/

/** What agent servers keep beside a conversation for themselves: no part of it. */
const OWN = new Set(['events', 'owner_lease.json', '.owner_lease.lock', '.eventlog.lock'])

/** The number in the name of an event file; null for any other name. */
export function eventNumber(name: string): number | null {
  const number = EVENT_FILE.exec(name)?.[2]
  return number === undefined ? null : Number(number)
}

/** Whether a name is that of a document. */
export const isDocument = (name: string): name is DocumentName =>
  (DOCUMENTS as readonly string[]).includes(name)

/** Whether a name is nothing to speak of. */
export const isKnown = (name: string): boolean =>
  isDocument(name) || OWN.has(name) || eventNumber(name) !== null
