/** Shows a page of events, one a line, with the command that prints the next page. */

import { isQuarantined, type StoredEvent } from '../../index.ts'
import type { EventPage } from '../../store/kit/index.ts'
import type { SearchRequest } from '../args/request.ts'
import { describeEvent } from '../../inspector/index.ts'
import { commandLine, instant } from './next.ts'
import { eventRow, heading, idWidth, type Page } from './page.ts'
import { counted, safe } from '../print/text.ts'

/** Shows a page to people. */
export function* showSearch(
  page: Page,
  request: SearchRequest,
  { items, next_page_id: next }: EventPage,
): IterableIterator<string> {
  const title = safe(`${request.conversation} in ${request.db.label}`)
  yield heading(page, title, counted(items.length, 'event') + (next === null ? '' : ', more follow'))
  const idColumns = idWidth(
    page,
    items.map(({ id }) => id),
  )
  for (const item of items) yield* row(page, item, idColumns)
  if (items.length === 0) yield page.paint('dim', '  nothing')
  if (next !== null) {
    yield page.paint('dim', 'The next page:')
    yield `  ${page.paint('strong', safe(nextCommand(request, next)))}`
  }
}

function* row(page: Page, { id, time, fact }: StoredEvent, idColumns: number): IterableIterator<string> {
  if (isQuarantined(fact)) return
  yield eventRow(page, {
    lead: `  ${instant(BigInt(time))}  `,
    gutter: '',
    described: describeEvent(fact),
    id,
    idColumns,
  })
}

function nextCommand({ db, conversation, filter, descending, limit }: SearchRequest, next: string): string {
  const { kinds = [], source, timestampGte, timestampLt, text, leafId } = filter
  return commandLine('search', [
    ['db', db.label],
    ['conversation', conversation],
    ...kinds.map((kind): [string, string] => ['kind', kind]),
    ['source', source],
    ['since', timestampGte],
    ['until', timestampLt],
    ['text', text],
    ['leaf', leafId],
    ...(descending ? [['desc', true] as const] : []),
    ['limit', limit === null ? undefined : String(limit)],
    ['page', next],
  ])
}
