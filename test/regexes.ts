/** The regular expressions of src/, read from its syntax trees, and hostile texts for each. */

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseAst } from 'rolldown/parseAst'

const SRC = resolve(import.meta.dirname, '../src')

/** A regular expression and its file. */
export interface SourceRegex {
  readonly location: string
  /** Null for one that is built at run time. */
  readonly regex: RegExp | null
}

/** Folders that never process a user's text: the test kit, and the build of the inspector's page. */
const OUTSIDE = ['testing/', 'build/']

/** The regular expressions of all other files. */
export function regexesOfSource(): SourceRegex[] {
  const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  return files
    .filter((file) => file.endsWith('.ts') && !OUTSIDE.some((folder) => file.startsWith(folder)))
    .toSorted()
    .flatMap((file) => regexesIn(file, readFileSync(join(SRC, file), 'utf8')))
}

interface Node {
  readonly type: string
  readonly regex?: { readonly pattern: string; readonly flags: string }
  readonly callee?: { readonly name?: string }
}

function regexesIn(file: string, text: string): SourceRegex[] {
  const matches: SourceRegex[] = []
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { type, regex, callee } = value as Node
    if (type === 'Literal' && regex !== undefined)
      matches.push({ location: file, regex: new RegExp(regex.pattern, regex.flags) })
    if (callee?.name === 'RegExp') matches.push({ location: file, regex: null })
    for (const inner of Object.values(value)) visit(inner)
  }
  visit(parseAst(text, { lang: 'ts' }))
  return matches
}

/** Whether a pattern has a repetition. */
export const repeats = ({ source }: RegExp): boolean => /[*+{]/.test(plainOf(source))

/** Replaces each escape and each class of a pattern by a letter. */
const plainOf = (source: string): string =>
  source.replaceAll(/\\u\{[^}]*\}|\\[pP]\{[^}]*\}|\\./g, 'c').replaceAll(/\[[^\]]*\]/g, 'c')

/**
 * Patterns that repeat a group without a limit, or repeat anything at least four times. Engines unroll smaller
 * minimums.
 */
export const overflowing = (sources: readonly string[]): string[] =>
  sources.filter((source) => /\)(?:[*+]|\{\d+,\})|\{(?:[4-9]|\d\d+),\}/.test(plainOf(source)))

/** All patterns, and all strings of the files that build patterns. */
export function partsOfPatterns(patterns: readonly SourceRegex[]): string[] {
  const files = new Set(patterns.flatMap(({ location, regex }) => (regex === null ? [location] : [])))
  return [
    ...new Set([
      ...patterns.flatMap(({ regex }) => (regex === null ? [] : [String(regex)])),
      ...[...files].flatMap((file) => textsIn(readFileSync(join(SRC, file), 'utf8'))),
    ]),
  ]
}

function textsIn(text: string): string[] {
  const matches: string[] = []
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const { type, value: literal } = value as { readonly type?: string; readonly value?: unknown }
    if (type === 'Literal' && typeof literal === 'string') matches.push(literal)
    if (type === 'TemplateElement') matches.push((literal as { readonly raw: string }).raw)
    for (const inner of Object.values(value)) visit(inner)
  }
  visit(parseAst(text, { lang: 'ts' }))
  return matches
}

/** A character for each class that patterns match or stop at. */
const COMMON = ['a', 'A', '0', ' ', '\n', '\\', '"', '-', '/', '=', '&', ':', '@', '[', '(']

/** Makes a text of about this many characters. */
export type MakeText = (length: number) => string

/** Texts of repeated pieces of the pattern. O(pieces²). */
export const hostileTexts = ({ source }: RegExp): MakeText[] => textsOf(piecesOf(source))

/**
 * Repeats each piece and each pair of pieces, also after another piece, and before a character that no
 * pattern matches. O(pieces²).
 */
export function textsOf(pieces: readonly string[]): MakeText[] {
  const pairs = pieces.flatMap((a) => pieces.map((b) => (a === b ? a : a + b)))
  return [
    ...pairs.map(
      (part): MakeText =>
        (length) =>
          repeated(part, length),
    ),
    ...['', ...pieces].flatMap((first) =>
      pieces.map(
        (part): MakeText =>
          (length) =>
            `${first}${repeated(part, length)}\u0001`,
      ),
    ),
  ]
}

const repeated = (part: string, length: number): string => part.repeat(Math.ceil(length / part.length))

/** Strings in a pattern, and one character of each common class. */
function piecesOf(source: string): string[] {
  const strings = source
    .replaceAll(
      /\\u[0-9a-fA-F]{4}|\\u\{[0-9a-fA-F]+\}|\\x[0-9a-fA-F]{2}|\\[pP]\{\w+\}|\\[dDwWsSbBtnrvf0-9]/g,
      '\u0000',
    )
    .replaceAll(/\(\?(?:[:=!]|<[=!]|<\w+>)|\{\d+(?:,\d*)?\}/g, '\u0000')
    .match(/(?:\\[^\w]|[A-Za-z0-9_%@&=:;<>"'`~!#/ -])+/g)
  const pieces = (strings ?? []).map((text) => text.replaceAll(/\\(.)/g, '$1'))
  return [...new Set([...pieces.toSorted((a, b) => b.length - a.length).slice(0, 16), ...COMMON])]
}
