/** The line that carries a quarantined line which could not stand in a file as it was. */

import { isLegalId, type Issue, type Quarantined } from '../../event/index.ts'

/** The kind of a line that keeps another. No event has it, so that a reader that does not know it quarantines it. */
const KIND = 'colloquy.quarantined'

const START = `{"kind":${JSON.stringify(KIND)},`

/** A line of JSON that keeps the other. */
export function wrap({ raw, issues, id, parent_id, event_kind }: Quarantined): string {
  return JSON.stringify({ kind: KIND, id, parent_id, event_kind, raw, issues })
}

/** The line that a text keeps, or null for any other text. */
export function unwrap(text: string): Quarantined | null {
  if (!text.startsWith(START)) return null
  let value: Readonly<Record<string, unknown>>
  try {
    value = JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    return null
  }
  const { raw, issues, id, parent_id: parent, event_kind: kind } = value
  if (typeof raw !== 'string' || !Array.isArray(issues) || !issues.every(isIssue)) return null
  if (id === undefined ? parent !== undefined : typeof id !== 'string' || !isLegalId(id)) return null
  if (parent !== undefined && parent !== null && typeof parent !== 'string') return null
  if (kind !== undefined && typeof kind !== 'string') return null
  return Object.freeze({
    quarantined: true,
    raw,
    issues,
    ...(typeof id === 'string' && { id }),
    ...(parent !== undefined && { parent_id: parent }),
    ...(kind !== undefined && { event_kind: kind }),
  })
}

function isIssue(value: unknown): value is Issue {
  if (typeof value !== 'object' || value === null) return false
  const { loc, msg, type } = value as Readonly<Record<string, unknown>>
  return Array.isArray(loc) && typeof msg === 'string' && typeof type === 'string'
}
