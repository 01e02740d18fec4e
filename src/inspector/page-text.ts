/** The page as text: the template that the build made, with logs in it that no markup of theirs can leave. */

import { inPage, type LogDocument, logBlocks, type LogTitle, type PageSource } from './log-document.ts'

/** Where the data go in the template. */
export const DATA_MARK = '<!--data-->'

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
