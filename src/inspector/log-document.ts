import type { Issue } from '../event/issues.ts'
import { maskSecrets } from '../event/mask.ts'
import type { Finding } from '../explain/finding.ts'
import type { FindingOptions } from '../explain/findings.ts'
import { type Fact, isQuarantined } from '../event/quarantine.ts'
import { hideSecrets } from './glimpse.ts'

/** A problem with a loaded event. */
export interface LogIssue {
  readonly seq: number
  readonly issue: Issue
}

/** A log, as the inspector shows it. */
export interface LogDocument {
  readonly title: string
  /** Id of the conversation, from which missing event ids are derived; empty for a file. */
  readonly conversation: string
  readonly name: string
  readonly parent: string | null
  /** Id of the parent's action that opened the conversation, or null. */
  readonly call: string | null
  /** Line number of each fact in the file; null if the numbers are 1, 2, 3, … */
  readonly lines: readonly number[] | null
  readonly issues: readonly LogIssue[]
  readonly notes: readonly string[]
  /** Findings of the log; null if the page has to compute them. */
  readonly findings: readonly Finding[] | null
  readonly facts: readonly Fact[]
}

/** Maximum number of facts for which findings include checks of requests and of secrets. Both checks are slow. */
export const LONG_LOG = 20_000

/**
 * Returns which findings to compute for a log of `length` facts.
 * @example
 * findingOptions(30_000) // { grammars: [], secrets: false }
 */
export const findingOptions = (length: number): FindingOptions =>
  length > LONG_LOG ? { grammars: [], secrets: false } : {}

/** What a list of logs shows of each log. */
export type LogTitle = Pick<LogDocument, 'title' | 'conversation' | 'name' | 'parent' | 'call'>

/** Where a page gets its logs. */
export interface PageSource {
  /**
   * `page`: from the page itself. `files`: from the command that serves the page. `service`: from a service,
   * which may require a key.
   */
  readonly from: 'page' | 'files' | 'service'
  readonly logs: readonly LogTitle[]
  readonly first: number
}

/** A log without its facts. */
export type LogHead = Omit<LogDocument, 'facts'>

/** Number of characters per block. A long log in one block would exceed the maximum length of a string. */
const BLOCK = 1 << 23

/**
 * Yields a log as blocks of JSON text: the head, then arrays of facts; every `encrypted_content` is null. No
 * block contains `<` or a line end, so a block can be inserted into a page or a line. O(size).
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

/** Returns a fact without encrypted content. */
export function shownFact(fact: Fact): Fact {
  const masked = maskSecrets(fact)
  return isQuarantined(masked) ? { ...masked, raw: hideSecrets(masked.raw) } : masked
}

/** Returns JSON that cannot end a script element. O(size). */
export const inPage = (value: unknown): string => JSON.stringify(value).replaceAll('<', String.raw`\u003c`)

const DATA_MARK = '<!--data-->'

/**
 * Yields the page of the inspector in pieces. A page with logs opens without a server; a page without logs
 * requests them from its `source`. The logs are JSON without `<`, so the browser cannot parse them as markup
 * or script. O(size of the logs).
 * @param template the HTML page that `npm run build` makes
 * @example
 * const head = { title: 'c', conversation: 'c', name: 'c', parent: null, call: null, lines: null, issues: [], notes: [] }
 * const log = { ...head, findings: null, facts: [shownFact({ kind: 'PauseEvent', id: 'p' })] }
 * [...inspectorPage('<body><!--data--></body>', [log])].join('').includes(inPage(titleOf(log))) // true
 * [...logBlocks(log)].at(-1) // '[{"kind":"PauseEvent","id":"p"}]'
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

/** Returns the fields of a log that a list of logs shows. */
export const titleOf = ({ title, conversation, name, parent, call }: LogDocument): LogTitle => ({
  title,
  conversation,
  name,
  parent,
  call,
})
