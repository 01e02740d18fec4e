/** Broken bodies and addresses for the fuzz test, which no schema describes. */

import fc from 'fast-check'
import type { DocumentedOperation } from './document.ts'

/** Oversized bodies by name, since their text would flood a failure report. */
export const GIANTS: Readonly<Record<string, string>> = {
  '@lists': `${'['.repeat(600)}${']'.repeat(600)}`,
  '@open lists': '['.repeat(200_000),
  '@objects': `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`,
  '@larger than the limit': `{"title":"${'x'.repeat(2 ** 20)}"}`,
}

/** Bodies that are invalid JSON or too large. */
export const brokenBody: fc.Arbitrary<string | Uint8Array> = fc.oneof(
  fc.constantFrom(
    ...Object.keys(GIANTS),
    '{',
    '{"a":',
    'nul',
    '[1,]',
    '\ufeff{}',
    '{"a":1e999}',
    '"\\ud800"',
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{}}}',
  ),
  fc.uint8Array({ maxLength: 200 }),
)

/** Fills a path's parameters with texts, escaped or raw. */
export function pathOf({ path }: DocumentedOperation, values: readonly string[], raw: boolean): string {
  let index = -1
  return path.replaceAll(/\{\w+\}/g, () => {
    const text = (values[(index += 1)] ?? '').toWellFormed()
    if (!raw) return encodeURIComponent(text.slice(0, 2_000))
    // Raw, except for characters that would end the path.
    return text.slice(0, 2_000).replaceAll(/[?#\s\\]/g, '')
  })
}

/** The query string of an address. */
export function searchOf(pairs: readonly (readonly [string, string])[]): string {
  if (pairs.length === 0) return ''
  return `?${pairs.map((pair) => pair.map((text) => encodeURIComponent(text.toWellFormed().slice(0, 5_000))).join('=')).join('&')}`
}
