/** Findings about what looks like a secret, in events that people and models read. */

import { redact } from '../../context/redaction/redact.ts'
import { redactionRules } from '../../context/redaction/rules.ts'
import { quote } from '../../event/text.ts'
import { isQuarantined } from '../../event/quarantine.ts'
import { type Found, found, type Scene } from './scene.ts'

/** Events in which redaction by the well-known forms would mask something. O(size). */
export function* secretFindings({ state }: Scene): IterableIterator<Found> {
  const rules = redactionRules()
  for (const entry of state.log.entries) {
    const fact = entry.event ?? entry.quarantined
    if (fact === null) continue
    const masked = redact(fact, rules)
    if (masked === fact) continue
    const path = difference(fact, masked, '') ?? ''
    const what = isQuarantined(fact)
      ? 'a line that is no event'
      : 'tool_name' in fact && fact.kind !== 'ActionEvent'
        ? `the result of ${quote(fact.tool_name)}`
        : `this ${fact.kind}`
    const text = `${what} holds what looks like a secret${path === '' ? '' : `, at ${path.slice(0, 120)}`}`
    yield found('secret', 'error', entry, text, { law: 'X7' })
  }
}

/** Where two JSON values differ first, but no further than a name that is masked; null for equals. O(size). */
function difference(was: unknown, is: unknown, path: string): string | null {
  if (was === is) return null
  if (!isObject(was) || !isObject(is)) return path
  for (const [key, value] of Object.entries(was)) {
    if (!Object.hasOwn(is, key)) return path
    const at = Array.isArray(was) ? `[${key}]` : path === '' ? key : `.${key}`
    const place = difference(value, is[key], `${path}${at}`)
    if (place !== null) return place
  }
  return null
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null
