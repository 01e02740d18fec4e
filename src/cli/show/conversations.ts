/** Shows a page of conversations as a table, with the command that prints the next page. */

import type { ConversationRecord } from '../../index.ts'
import type { Page as PageOf } from '../../store/kit/index.ts'
import type { ConversationsRequest } from '../args/request.ts'
import { commandLine } from './next.ts'
import { heading, type Page, shownId } from './page.ts'
import { counted, fit, glimpse, pad, padStart, safe, width } from '../print/text.ts'

/** Shows a page to people. */
export function* showConversations(
  page: Page,
  { db, limit }: ConversationsRequest,
  { items, next_page_id: next }: PageOf<ConversationRecord>,
): IterableIterator<string> {
  const remark = counted(items.length, 'conversation') + (next === null ? '' : ', more follow')
  yield heading(page, safe(db.label), remark)
  // Whole if they can be: an id is there to be typed.
  const ids = Math.min(Math.max(0, ...items.map(({ id }) => width(safe(id)))), Math.floor(page.columns / 2))
  const events = Math.max(0, ...items.map(({ version }) => version.toLocaleString('en').length))
  for (const { id, version, createdAt, title } of items) {
    const unit = version === 1 ? 'event ' : 'events'
    const lead = `  ${pad(shownId(id, ids), ids)}  ${padStart(version.toLocaleString('en'), events)} ${unit}`
    const when = createdAt.slice(0, 19).replace('T', ' ')
    const room = page.columns - width(lead) - when.length - 4
    yield `${lead}  ${page.paint('dim', when)}  ${fit(glimpse(title ?? ''), room)}`.trimEnd()
  }
  if (items.length === 0) yield page.paint('dim', '  nothing')
  if (next !== null) {
    yield page.paint('dim', 'The next page:')
    const command = commandLine('conversations', [
      ['db', db.label],
      ['limit', limit === null ? undefined : String(limit)],
      ['page', next],
    ])
    yield `  ${page.paint('strong', safe(command))}`
  }
}
