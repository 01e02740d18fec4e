/**
 * Names the first thing that changed between two requests, since everything behind it costs its cache and its
 * reasoning.
 */

import { isObject } from '../event/json.ts'
import type { NeutralMessage } from '../messages/message.ts'

/** The first difference of two requests. */
export interface PrefixChange {
  readonly in: 'system' | 'tools' | 'message'
  /** Index of the message, or of the input item; absent for `system` and `tools`. */
  readonly message?: number
  /** The field in it, as in `content[0].text`; empty where the whole differs or is missing. */
  readonly path: string
}

/** The fields of the prefix, in the order in which providers read them. */
const FRONT: readonly (readonly [string, 'system' | 'tools'])[] = [
  ['tools', 'tools'],
  ['system', 'system'],
  ['systemInstruction', 'system'],
  ['instructions', 'system'],
]

/**
 * The first difference between what was sent and what is sent now, for logs, metrics and people; null when the second
 * request only adds to the first. Cache marks count for nothing. Takes the requests of any grammar as they were sent,
 * `tools` among them where they have any, Gemini's with its `config`. O(size).
 * @example
 * const [one, two] = ['hi', 'ho'].map((text) => toAnthropic([{ role: 'user', content: [{ text }], name: null }]))
 * explainPrefix(one, two) // { in: 'message', message: 0, path: 'content[0].text' }
 * explainPrefix(one, one) // null
 */
export function explainPrefix(previous: object, next: object): PrefixChange | null {
  const [before, now] = [fieldsOf(previous), fieldsOf(next)]
  for (const [field, place] of FRONT) {
    const path = difference(before[field] ?? null, now[field] ?? null, '')
    if (path !== null) return { in: place, path }
  }
  const [was, is] = [before, now].map(messagesIn) as [readonly unknown[], readonly unknown[]]
  for (const [at, message] of was.entries()) {
    const path = at === was.length - 1 ? grown(message, is[at]) : difference(message, is[at], '')
    if (path !== null) return { in: 'message', message: at, path }
  }
  return null
}

type Fields = Readonly<Record<string, unknown>>

/** Gemini clients pass the system prompt and the tools in `config`. */
function fieldsOf(request: object): Fields {
  if (Array.isArray(request)) return { messages: request }
  const { config } = request as Fields
  return { ...(isObject(config) ? config : {}), ...request }
}

const messagesIn = ({ messages, input, contents }: Fields): readonly unknown[] => {
  const list: unknown = messages ?? input ?? contents
  return Array.isArray(list) ? list : []
}

/** The difference of the last message, whose content may have grown at its end. */
function grown(was: unknown, is: unknown): string | null {
  if (!isObject(was) || !isObject(is)) return difference(was, is, '')
  const key = 'parts' in was ? 'parts' : 'content'
  const [before, now] = [was[key], is[key]]
  if (!Array.isArray(before) || !Array.isArray(now)) return difference(was, is, '')
  return difference(was, { ...is, [key]: now.slice(0, before.length) }, '')
}

/**
 * The steps of a path to tools and their functions, system parts, messages and blocks, also those inside of a result or
 * a document.
 */
const STEPS = /\.?\b(content|parts|source|function)\b|\[\d+\]/g

/** Elsewhere, as in arguments or a schema, `cache_control` is a field that the model reads. */
const mayBeMarked = (path: string): boolean => path.replace(STEPS, '') === ''

/** The path of the first difference of two JSON values; null for equals. */
function difference(was: unknown, is: unknown, path: string): string | null {
  if (was === is) return null
  if (Array.isArray(was) && Array.isArray(is)) {
    for (let at = 0; at < Math.max(was.length, is.length); at += 1) {
      const found = difference(was[at], is[at], `${path}[${at}]`)
      if (found !== null) return found
    }
    return null
  }
  if (!isObject(was) || !isObject(is)) return path
  const keys = new Set([...Object.keys(was), ...Object.keys(is)])
  if (mayBeMarked(path)) keys.delete('cache_control')
  for (const key of keys) {
    const found = difference(was[key], is[key], path === '' ? key : `${path}.${key}`)
    if (found !== null) return found
  }
  return null
}

/** Marks where caches end. The model does not read it. */
const MARK = 'cache_prompt'

/**
 * How many leading messages of `next` are those of `previous`, cache marks aside: what a provider's cache can serve
 * again. Between condensations it is all of `previous`, or all but its last message while that is the user's and grows
 * (law K6), so the stable part only grows; a reply that a user spoke into is put before what he said (`reply.after`),
 * and ends it there. O(parts) for messages of the same log, since their contents are the same objects.
 * @example
 * const hi = { role: 'user', content: [{ text: 'hi' }], name: null }
 * const more = { role: 'user', content: [{ text: 'hi' }, { text: 'there' }], name: null }
 * [stablePrefix([hi], [hi, hi]), stablePrefix([hi], [more])] // [1, 0]
 */
export function stablePrefix(previous: readonly NeutralMessage[], next: readonly NeutralMessage[]): number {
  const most = Math.min(previous.length, next.length)
  let count = 0
  while (count < most && isSame(previous[count], next[count])) count += 1
  return count
}

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false
    return one.every((value, index) => isSame(value, other[index]))
  }
  const [left, right] = [messageFields(one), messageFields(other)]
  return (
    left.size === right.size &&
    [...left].every(([key, value]) => right.has(key) && isSame(value, right.get(key)))
  )
}

const messageFields = (value: object): Map<string, unknown> =>
  new Map(Object.entries(value).filter(([key, field]) => key !== MARK && field !== undefined))
