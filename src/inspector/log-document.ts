/** A log as the page reads it: one JSON document, in which nothing is that no other rendering would show. */

import type { Issue } from '../event/issues.ts'
import { maskSecrets } from '../event/mask.ts'
import type { Finding } from '../explain/finding.ts'
import type { FindingOptions } from '../explain/findings.ts'
import { type Fact, isQuarantined } from '../event/quarantine.ts'
import { hideSecrets } from './glimpse.ts'

/** What is wrong with an event that loads all the same. */
export interface LogIssue {
  readonly seq: number
  readonly issue: Issue
}

/** One conversation, whole. */
export interface LogDocument {
  /** What people call it: the name of a file, or a title. */
  readonly title: string
  /** Its id, part of the ids of events that have none; empty for that of a file. */
  readonly conversation: string
  /** What other logs name it by. */
  readonly name: string
  /** The name of the conversation that it was made by; null for one of its own. */
  readonly parent: string | null
  /** The line of each position, where these are not 1, 2, 3 and so on; else null. */
  readonly lines: readonly number[] | null
  readonly issues: readonly LogIssue[]
  /** What became of records that gave no event, in words. */
  readonly notes: readonly string[]
  /** What is wrong or remarkable; null where the page has to find it. */
  readonly findings: readonly Finding[] | null
  readonly facts: readonly Fact[]
}

/** Of a longer log no requests are written, and no texts read, to find what is wrong with it: that takes minutes. */
export const LONG_LOG = 20_000

/** What of a log of a length is looked at to find what is wrong with it. */
export const lookOf = (length: number): FindingOptions =>
  length > LONG_LOG ? { grammars: [], secrets: false } : {}

/** What stands of a log in a list, before it is opened. */
export type LogTitle = Pick<LogDocument, 'title' | 'conversation' | 'name' | 'parent'>

/** How a page comes by its logs. */
export interface PageSource {
  /**
   * `page`: they stand in the page. `files`: the command that serves the page gives them. `service`: a service gives
   * them, to those who have a key.
   */
  readonly from: 'page' | 'files' | 'service'
  readonly logs: readonly LogTitle[]
  /** Index of the one that is opened first. */
  readonly first: number
}

/** What a log is said to be, before its facts. */
export type LogHead = Omit<LogDocument, 'facts'>

/** So many characters of facts stand together: no engine has a text for all of a long log. */
const BLOCK = 1 << 23

/**
 * The document as blocks of JSON text, with every `encrypted_content` null: first all but its facts, then arrays of
 * facts. No block holds `<` or a line end, so that it may stand in a page, and on a line. Lazy; O(size).
 */
export function* logBlocks({ facts, ...head }: LogDocument): IterableIterator<string> {
  yield inPage(head)
  let block: string[] = []
  let length = 0
  for (const fact of facts) {
    const text = inPage(shownFact(fact))
    block.push(text)
    length += text.length
    if (length < BLOCK) continue
    yield `[${block.join(',')}]`
    block = []
    length = 0
  }
  if (block.length > 0) yield `[${block.join(',')}]`
}

/** A fact as it may be shown. */
export function shownFact(fact: Fact): Fact {
  const masked = maskSecrets(fact)
  return isQuarantined(masked) ? { ...masked, raw: hideSecrets(masked.raw) } : masked
}

/** JSON that ends no script, wherever in a page it stands. */
export const inPage = (value: unknown): string => JSON.stringify(value).replaceAll('<', String.raw`\u003c`)

/** Where the data go in the template. */
const DATA_MARK = '<!--data-->'

/**
 * The page with logs in it, which opens without a server, in pieces; without any for a page that asks a server for
 * them. Nothing of a log is read as markup or as a script: it stands as JSON without `<`. Lazy; O(size of the logs).
 * @param template as `npm run build` makes it.
 * @example
 * [...inspectorPage('<body><!--data--></body>', [])].join('').includes('"from":"page"') // true
 */
export function* inspectorPage(
  template: string,
  logs: readonly LogDocument[],
  source: PageSource = { from: 'page', logs: logs.map(titleOf), first: 0 },
): IterableIterator<string> {
  const at = template.indexOf(DATA_MARK)
  yield template.slice(0, at)
  yield `<script type="application/json" id="source">${inPage(source)}</script>`
  for (const [index, log] of logs.entries()) {
    for (const block of logBlocks(log)) {
      yield `<script type="application/json" data-log="${index}">`
      yield block
      yield '</script>'
    }
  }
  yield template.slice(at + DATA_MARK.length)
}

/** What a list says of a log. */
export const titleOf = ({ title, conversation, name, parent }: LogDocument): LogTitle => ({
  title,
  conversation,
  name,
  parent,
})
