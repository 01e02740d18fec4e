/** The well-known forms of keys, tokens and passwords, in one table. */

import type { Finder, OnHit } from './hit.ts'

/** A form of secrets. */
interface Form {
  readonly name: string
  /** What stands in any text that holds one, in letters of either case: looked for first, and once for all forms. */
  readonly trigger: RegExp
  /** What is masked: the match, or its group named `secret`; or what finds it. */
  readonly pattern: RegExp | Finder
}

/**
 * Each takes at most some hundred steps from any place of a text: what may repeat without bound begins where no such
 * character stands before it, or is the last thing asked for, and is not counted (`x{8}x*`, not `x{8,}`): of a count an
 * engine keeps each step, until its stack is full.
 */
const FORMS = [
  {
    // OpenAI, Anthropic and those who took over their form; a digit tells them from names as sk-folding-cube-wrapper.
    name: 'sk',
    trigger: /sk-/,
    pattern: /(?<![A-Za-z0-9])sk-(?=[A-Za-z_-]{0,64}\d)[\w-]{16}[\w-]*/g,
  },
  {
    name: 'github',
    trigger: /gh[pousr]_|github_pat_/,
    pattern: /(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{36}[A-Za-z0-9]*|github_pat_\w{22}\w*)/g,
  },
  {
    name: 'aws',
    trigger: /A[KS]IA/,
    pattern: /(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])/g,
  },
  {
    name: 'slack',
    trigger: /xox/,
    pattern: /(?<![A-Za-z0-9])xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10}[A-Za-z0-9-]*/g,
  },
  { name: 'google', trigger: /AIza/, pattern: /(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}/g },
  {
    name: 'jwt',
    trigger: /eyJ/,
    pattern: /(?<![\w-])eyJ[\w-]{8}[\w-]*\.(?:[\w-]{8}[\w-]*(?:\.[\w-]*){0,3}|\.[\w-]+(?:\.[\w-]*){2})/g,
  },
  {
    name: 'bearer',
    trigger: /bearer/,
    pattern:
      /(?<![A-Za-z0-9])bearer[ \t]{1,8}(?<secret>(?=[A-Za-z._~+/-]{0,64}\d)[\w.~+/-]{16}[\w.~+/-]*={0,2})/dgi,
  },
  {
    name: 'authorization',
    trigger: /authorization/,
    pattern:
      /(?<![A-Za-z0-9])authorization\\?["']?[ \t]{0,8}[:=][ \t]{0,8}\\?["']?(?:bearer|basic|token)[ \t]{1,8}(?<secret>[^\s"'\\<>(){}$[\],;]{4}[^\s"'\\<>(){}$[\],;]*)/dgi,
  },
  {
    // Up to the last @ of the authority: a password may hold one that is not encoded.
    name: 'url_password',
    trigger: /:\/\//,
    pattern: /:\/\/[^\s:@/?#"'<>\\]{0,256}:(?<secret>[^\s/?#"'<>\\]{1,256})@/dg,
  },
  { name: 'private_key', trigger: /PRIVATE KEY/, pattern: findPrivateKeys },
] as const satisfies readonly Form[]

/** The forms that are known, by name. */
export type BuiltInPattern = (typeof FORMS)[number]['name']

/** The names of all built-in patterns. */
export const BUILT_IN: readonly BuiltInPattern[] = Object.freeze(FORMS.map(({ name }) => name))

/** Finds what the named patterns mean. O(length). */
export function builtInFinder(names: readonly BuiltInPattern[]): Finder | null {
  const forms: readonly Form[] = FORMS.filter(({ name }) => names.includes(name))
  if (forms.length === 0) return null
  const trigger = new RegExp(forms.map((form) => form.trigger.source).join('|'), 'i')
  return (text, report) => {
    if (!trigger.test(text)) return
    for (const { pattern } of forms) {
      if (typeof pattern === 'function') pattern(text, report)
      else findAll(pattern, text, report)
    }
  }
}

/** Gives every match of a global pattern, or of its group `secret`; but no empty one. */
function findAll(pattern: RegExp, text: string, report: OnHit): void {
  pattern.lastIndex = 0
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    if (match[0] === '') pattern.lastIndex += 1
    reportMatch(match, 0, report)
  }
}

/** Gives a match, or what its group `secret` matched, unless that is empty; its text begins at an offset. O(1). */
export function reportMatch(match: RegExpExecArray, offset: number, report: OnHit): void {
  const { index, 0: whole, groups, indices } = match
  const part = indices?.groups?.['secret']
  const [start, end] = part ?? [index, index + whole.length]
  if (end > start)
    report(offset + start, offset + end, part === undefined ? whole : (groups?.['secret'] ?? ''), 'pattern')
}

const HEADER = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g
const FOOTER = /-----END [A-Z0-9 ]{0,99}-----/y
/** A line of a key whose end is missing, and the last of them, cut anywhere. */
const LINE = /\s{0,4}(?:[A-Za-z0-9+/=]{16,100}|[A-Za-z-]{1,40}: [^\r\n]{0,200})/y
const REST = /\s{0,4}[A-Za-z0-9+/=]{1,100}/y

/** A pattern would have to look for the end from each beginning. */
function findPrivateKeys(text: string, report: OnHit): void {
  const ends = positions(text, '-----END ')
  const begins = positions(text, '-----BEGIN ')
  HEADER.lastIndex = 0
  for (let match = HEADER.exec(text); match !== null; match = HEADER.exec(text)) {
    const start = match.index
    const body = HEADER.lastIndex
    const end = ends(body)
    const isWhole = end < begins(body)
    const stop = isWhole ? after(FOOTER, text, end) : endOfRemains(text, body)
    report(start, stop, text.slice(start, stop), 'pattern')
    HEADER.lastIndex = stop
  }
}

/** Where a sticky pattern ends that begins at a position; the position itself where it does not. */
function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

/** Line by line: an engine runs out of stack on one pattern for all. O(length). */
function endOfRemains(text: string, from: number): number {
  let at = from
  for (let next = after(LINE, text, at); next > at; next = after(LINE, text, at)) at = next
  return after(REST, text, at)
}

/**
 * The next place of a text from a position on, asked for in ascending order; infinity when there is none. O(length) for
 * all.
 */
function positions(text: string, part: string): (from: number) => number {
  let next = -1
  return (from) => {
    while (next < from && next !== Infinity) {
      const found = text.indexOf(part, from)
      next = found === -1 ? Infinity : found
    }
    return next
  }
}
