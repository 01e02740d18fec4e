/**
 * Finds the first change between two requests. After the change, the provider's cache and signed reasoning
 * cannot be reused.
 */

import { isObject } from '../event/json.ts'
import type { NeutralMessage } from '../messages/message.ts'

/** The first difference between two requests, as `explainPrefix` finds it. */
export interface PrefixChange {
  readonly in: 'system' | 'tools' | 'message'
  /** Index of the message, or of the input item; absent for `system` and `tools`. */
  readonly message?: number
  /**
   * Path of the field that differs, such as `content[0].text`. Empty if the whole message, `system` or
   * `tools` differs or is missing.
   */
  readonly path: string
}

/** The fields that precede the messages, in the order in which providers read them. */
const FRONT: readonly (readonly [string, 'system' | 'tools'])[] = [
  ['tools', 'tools'],
  ['system', 'system'],
  ['systemInstruction', 'system'],
  ['system_instruction', 'system'],
  ['instructions', 'system'],
]

/**
 * Returns the first difference between two requests, or null if the next request only adds to the previous
 * one. Accepts whole requests of any grammar, or only their messages. Ignores cache marks. O(size).
 * @example
 * const [one, two] = ['hi', 'ho'].map((text) => toAnthropic([{ role: 'user', content: [{ text }], name: null }]))
 * explainPrefix(one, two) // { in: 'message', message: 0, path: 'content[0].text' }
 * explainPrefix(one, one) // null
 */
export function explainPrefix(previous: object, next: object): PrefixChange | null {
  const [before, now] = [requestFields(previous), requestFields(next)]
  for (const [field, position] of FRONT) {
    const path = difference(before[field] ?? null, now[field] ?? null)
    if (path !== null) return { in: position, path }
  }
  const [was, is] = [before, now].map(messagesIn) as [readonly unknown[], readonly unknown[]]
  for (const [index, message] of was.entries()) {
    const path = index === was.length - 1 ? grown(message, is[index]) : difference(message, is[index])
    if (path !== null) return { in: 'message', message: index, path }
  }
  return null
}

type RequestFields = Readonly<Record<string, unknown>>

function requestFields(request: object): RequestFields {
  if (Array.isArray(request)) return { messages: request }
  const { config, toolConfig } = request as RequestFields
  return { ...(isObject(config) && config), ...(isObject(toolConfig) && toolConfig), ...request }
}

const messagesIn = ({ messages, input, contents }: RequestFields): readonly unknown[] => {
  const list: unknown = messages ?? input ?? contents
  return Array.isArray(list) ? list : []
}

/**
 * Returns the path of the first difference between the previous request's last message and the same message
 * of the next request, or null. Ignores content that was added at the message's end.
 */
function grown(was: unknown, is: unknown): string | null {
  if (!isObject(was) || !isObject(is)) return difference(was, is)
  const key = 'parts' in was ? 'parts' : 'content'
  const [before, now] = [was[key], is[key]]
  if (!Array.isArray(before) || !Array.isArray(now)) return difference(was, is)
  return difference(was, { ...is, [key]: now.slice(0, unmarked(now)[unmarked(before).length]) })
}

/** Matches the path segments of tools, system parts, messages and blocks. Others, such as `input`, lead into data. */
const STEPS = /\.?\b(content|parts|source|function)\b|\[\d+\]/g

/** Names of fields that are cache marks. */
const MARKS: ReadonlySet<string> = new Set(['cache_control', 'prompt_cache_breakpoint'])

/** Whether a mark's name at a path is a cache mark. In arguments or a schema it is data for the model. */
const mayBeMarked = (path: string): boolean => path.replace(STEPS, '') === ''

/** Returns the indexes of a list's items, except Converse's cache marks, which are blocks of their own. */
const unmarked = (list: readonly unknown[]): readonly number[] =>
  list.flatMap((block, index) => (isObject(block) && 'cachePoint' in block ? [] : [index]))

type Ignores = (path: string, key: string) => boolean

const ignoresMarks: Ignores = (path, key) => MARKS.has(key) && mayBeMarked(path)

/** Returns the path of the first difference, or null. A missing field equals an undefined field. */
function difference(was: unknown, is: unknown, path = '', ignores = ignoresMarks): string | null {
  if (was === is) return null
  if (Array.isArray(was) && Array.isArray(is)) {
    const indexes = (list: readonly unknown[]) => (mayBeMarked(path) ? unmarked(list) : [...list.keys()])
    const [before, now] = [indexes(was), indexes(is)]
    for (let index = 0; index < Math.max(before.length, now.length); index += 1) {
      const [from = -1, to = -1] = [before[index], now[index]]
      const inner = difference(was[from], is[to], `${path}[${to < 0 ? from : to}]`, ignores)
      if (inner !== null) return inner
    }
    return null
  }
  if (!isObject(was) || !isObject(is)) return path
  for (const key of new Set([...Object.keys(was), ...Object.keys(is)])) {
    if (was[key] === is[key] || ignores(path, key)) continue
    const inner = difference(was[key], is[key], path === '' ? key : `${path}.${key}`, ignores)
    if (inner !== null) return inner
  }
  return null
}

const ignoresCachePrompt: Ignores = (_, key) => key === 'cache_prompt'

/**
 * Returns the number of leading messages that two requests share, ignoring cache marks: the part that a
 * provider's cache can serve. Between condensations, all messages of `previous` are shared, except a last
 * user message that grew (law K6). If a user wrote during a reply, the shared part ends before the user's
 * message, because the reply precedes this message in `next` (`reply.after`). O(parts) for messages of the
 * same log, which share objects.
 * @example
 * const hi = { role: 'user', content: [{ text: 'hi' }], name: null }
 * const more = { role: 'user', content: [{ text: 'hi' }, { text: 'there' }], name: null }
 * [stablePrefix([hi], [hi, hi]), stablePrefix([hi], [more])] // [1, 0]
 */
export function stablePrefix(previous: readonly NeutralMessage[], next: readonly NeutralMessage[]): number {
  const limit = Math.min(previous.length, next.length)
  let count = 0
  while (count < limit && difference(previous[count], next[count], '', ignoresCachePrompt) === null)
    count += 1
  return count
}
