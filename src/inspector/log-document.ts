/** A log for the page: one JSON document, with the same redaction as other renderings. */

import type { Issue } from '../event/issues.ts'
import { maskSecrets } from '../event/mask.ts'
import type { Finding } from '../explain/finding.ts'
import type { FindingOptions } from '../explain/findings.ts'
import { type Fact, isQuarantined } from '../event/quarantine.ts'
import { hideSecrets } from './glimpse.ts'

/** A problem of an event that loads. */
export interface LogIssue {
  readonly seq: number
  readonly issue: Issue
}

export interface LogDocument {
  readonly title: string
  /** Its id, part of the derived ids of its events; empty for a file. */
  readonly conversation: string
  readonly name: string
  readonly parent: string | null
  /** Id of the parent's action that opened it; null if none did, or it is unknown. */
  readonly call: string | null
  /** Line number of each position; null if the lines are 1, 2, 3 and so on. */
  readonly lines: readonly number[] | null
  readonly issues: readonly LogIssue[]
  readonly notes: readonly string[]
  /** Null if the page must compute them. */
  readonly findings: readonly Finding[] | null
  readonly facts: readonly Fact[]
}

/** Maximum length of a log for which findings write requests and search texts: others need minutes. */
export const LONG_LOG = 20_000

export const findingOptions = (length: number): FindingOptions =>
  length > LONG_LOG ? { grammars: [], secrets: false } : {}

/** An entry of a list of logs. */
export type LogTitle = Pick<LogDocument, 'title' | 'conversation' | 'name' | 'parent' | 'call'>

/** The source of a page's logs. */
export interface PageSource {
  /**
   * Source of the logs. `page`: the page itself. `files`: the command that serves it. `service`: a service,
   * for clients with a key.
   */
  readonly from: 'page' | 'files' | 'service'
  readonly logs: readonly LogTitle[]
  readonly first: number
}

/** A document without its facts. */
export type LogHead = Omit<LogDocument, 'facts'>

/** Characters per block: a long log exceeds the maximum length of a string. */
const BLOCK = 1 << 23

/**
 * The document as JSON text blocks, every `encrypted_content` null: head, then arrays of facts. No block
 * contains `<` or a line end, so each can be part of a page or a line. Lazy; O(size).
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

export function shownFact(fact: Fact): Fact {
  const masked = maskSecrets(fact)
  return isQuarantined(masked) ? { ...masked, raw: hideSecrets(masked.raw) } : masked
}

/** JSON that cannot end a script element. */
export const inPage = (value: unknown): string => JSON.stringify(value).replaceAll('<', String.raw`\u003c`)

const DATA_MARK = '<!--data-->'

/**
 * The page in pieces. A page with logs opens without a server; a page without logs requests them. Logs are
 * JSON without `<`, never parsed as markup or script. Lazy; O(size of the logs).
 * @param template as `npm run build` makes it.
 * @example
 * [...inspectorPage('<body><!--data--></body>', [])].join('').includes('"from":"page"') // true
 */
export function* inspectorPage(
  template: string,
  logs: readonly LogDocument[],
  source: PageSource = { from: 'page', logs: logs.map(titleOf), first: 0 },
): IterableIterator<string> {
  const dataStart = template.indexOf(DATA_MARK)
  yield template.slice(0, dataStart)
  yield `<script type="application/json" id="source">${inPage(source)}</script>`
  for (const [index, log] of logs.entries()) {
    for (const block of logBlocks(log)) {
      yield `<script type="application/json" data-log="${index}">`
      yield block
      yield '</script>'
    }
  }
  yield template.slice(dataStart + DATA_MARK.length)
}

/** The entry of a log in a list. */
export const titleOf = ({ title, conversation, name, parent, call }: LogDocument): LogTitle => ({
  title,
  conversation,
  name,
  parent,
  call,
})
