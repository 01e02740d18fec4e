/** What every finder is given, and how it says what it has found. */

import type { Loaded } from '../../event/load.ts'
import type { Grammar } from '../../event/reply.ts'
import type { RequestWriter } from '../../laws/requests.ts'
import type { NeutralMessage } from '../../messages/message.ts'
import type { State } from '../../state/state.ts'
import type { Finding, FindingKind, Severity } from '../finding.ts'

/** A conversation to be looked through. */
export interface Scene {
  readonly state: State
  readonly items: readonly Loaded[]
  readonly grammars: readonly Grammar[]
  readonly ended: boolean
  /** What is sent of a state, as far as the log tells it. */
  readonly messages: (state: State) => readonly NeutralMessage[]
  /** What the server says that it sends of one. */
  readonly given: RequestWriter | undefined
}

/** A finding whose key is not made yet. */
export type Found = Omit<Finding, 'key'>

/** Looks for one kind of thing. */
export type Finder = (scene: Scene) => Iterable<Found>

/** What may be said of a finding beside its text. */
interface More extends Partial<Pick<Found, 'rule' | 'law' | 'cost'>> {
  /** The events that show it, beside the one that it is about. */
  readonly ids?: readonly (string | null | undefined)[]
}

/** A finding about an event. The events that show it are named once each. */
export function found(
  kind: FindingKind,
  severity: Severity,
  at: { readonly seq: number; readonly id: string | null },
  text: string,
  { ids = [], rule = null, law = null, cost }: More = {},
): Found {
  const named = [at.id, ...ids].filter((id): id is string => typeof id === 'string')
  return { kind, severity, text, rule, law, seq: at.seq, ids: [...new Set(named)], ...(cost && { cost }) }
}

/** A number and what it counts. */
export const counted = (many: number, one: string, more = `${one}s`): string =>
  `${many.toLocaleString('en')} ${many === 1 ? one : more}`
