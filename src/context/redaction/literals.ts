/** Finds secrets given as they are, also inside base64. */

import { DIGITS } from './base64.ts'
import type { Finder } from './hit.ts'

/**
 * Of how many characters a literal secret must be at least: a shorter one is found everywhere, and guessed as easily.
 */
export const MIN_SECRET = 8

const BASE64_CHARACTER = /[A-Za-z0-9+/_-]/
const BASE64_REST = /[A-Za-z0-9+/_-]*={0,2}/y

interface Form {
  readonly secret: string
  readonly base64: boolean
}

/**
 * Finds every place of every secret, also where they overlap: as it is, with `+` for its spaces, and inside base64 of
 * either alphabet at any offset. The whole of a base64 text that holds one is a hit. O(length) with a factor for the
 * number of secrets.
 */
export function literalFinder(secrets: readonly string[]): Finder | null {
  const forms = new Map<string, Form>()
  for (const secret of secrets) {
    for (const text of base64Forms(secret)) if (!forms.has(text)) forms.set(text, { secret, base64: true })
  }
  for (const secret of secrets) forms.set(secret.replaceAll(' ', '+'), { secret, base64: false })
  for (const secret of secrets) forms.set(secret, { secret, base64: false })
  if (forms.size === 0) return null
  // The longest first: what is shorter and begins at the same place is a part of it.
  const longest = [...forms.keys()].toSorted((a, b) => b.length - a.length)
  const pattern = new RegExp(longest.map(escape).join('|'), 'g')

  return (text, report) => {
    pattern.lastIndex = 0
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      const [found] = match
      const { secret, base64 } = forms.get(found) as Form
      if (base64) {
        const [start, end] = wholeBase64(text, match.index, match.index + found.length)
        report(start, end, secret, 'literal')
        // Going on inside would read a long text again for each secret in it.
        pattern.lastIndex = end
      } else {
        report(match.index, match.index + found.length, secret, 'literal')
        pattern.lastIndex = match.index + 1
      }
    }
  }
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)

function wholeBase64(text: string, from: number, to: number): [start: number, end: number] {
  let start = from
  while (start > 0 && BASE64_CHARACTER.test(text.charAt(start - 1))) start -= 1
  BASE64_REST.lastIndex = to
  return [start, to + (BASE64_REST.exec(text)?.[0].length ?? 0)]
}

/** The digits that a secret's bytes alone decide, for each place that they may have in a group of three. */
function base64Forms(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret)
  return [0, 1, 2].flatMap((offset) => {
    const first = Math.ceil((offset * 8) / 6)
    const end = Math.floor(((offset + bytes.length) * 8) / 6)
    let form = ''
    for (let digit = first; digit < end; digit += 1) {
      const bit = digit * 6 - offset * 8
      const pair = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0)
      form += DIGITS.charAt((pair >> (10 - (bit & 7))) & 63)
    }
    return [form, form.replaceAll('+', '-').replaceAll('/', '_')]
  })
}
