import type { StoredEvent } from '../contract/query.ts'
import { MAX_RANKED, type TextPage, type TextQuery, type TextRole } from '../contract/text.ts'
import type { PlacedEvent } from '../kit/append/decide-append.ts'
import { fitsRecord } from '../kit/query/fits.ts'
import {
  checkTextQuery,
  type CheckedTextQuery,
  findTextPage,
  fitsText,
  noFullText,
  scoreText,
  textPlace,
  type TextSource,
} from '../kit/query/text-query.ts'
import { eventText, lineOf, sizeOfLine } from '../kit/query/text-tokens.ts'
import type { Kept } from './conversations.ts'
import { SortedList } from './sorted.ts'

interface TextRow {
  readonly place: bigint
  readonly kept: Kept
  readonly event: StoredEvent
  readonly role: TextRole
  readonly line: string
  readonly size: number
}

const byPlace = (a: TextRow, b: TextRow): number => (a.place < b.place ? -1 : a.place > b.place ? 1 : 0)

export class MemoryTexts {
  readonly #isOn: boolean
  readonly #rows = new SortedList(byPlace)
  readonly #byPlace = new Map<bigint, TextRow>()
  readonly #byConversation = new Map<Kept, TextRow[]>()

  constructor(isOn: boolean) {
    this.#isOn = isOn
  }

  /** @throws `invalid_query`. */
  refuseWhenOff(): void {
    if (!this.#isOn) noFullText()
  }

  /** O(length of the texts). */
  add(stored: Kept, added: readonly Pick<PlacedEvent, 'event' | 'time' | 'node'>[]): void {
    if (!this.#isOn) return
    const rows = this.#byConversation.get(stored) ?? []
    this.#byConversation.set(stored, rows)
    for (const { event, time, node } of added) {
      const result = node === null ? null : eventText(event.fact)
      const line = result === null ? '' : lineOf(result.text)
      if (result === null || line === '') continue
      let position = textPlace(time, event.seq, 0)
      for (let attempt = 1; this.#byPlace.has(position); attempt += 1)
        position = textPlace(time, event.seq, attempt)
      const row = { place: position, kept: stored, event, role: result.role, line, size: sizeOfLine(line) }
      rows.push(row)
      this.#rows.add(row)
      this.#byPlace.set(position, row)
    }
  }

  /** O(texts of the conversation · log n). */
  remove(stored: Kept): void {
    for (const row of this.#byConversation.get(stored) ?? []) {
      this.#rows.delete(row)
      this.#byPlace.delete(row.place)
    }
    this.#byConversation.delete(stored)
  }

  /** O(all texts). @throws `invalid_query`, `invalid_cursor`. */
  search(query: TextQuery): TextPage {
    this.refuseWhenOff()
    const checked = checkTextQuery(query)
    const result = findTextPage(checked, this.#source(checked)).next()
    // The source has no steps.
    return result.done === true ? result.value : { items: [], cursor: null }
  }

  #source(query: CheckedTextQuery): TextSource<never, never> {
    const below = (position: bigint | null, count: number): TextRow[] => {
      const rows: TextRow[] = []
      for (const row of this.#rows.before((one) => position === null || one.place < position))
        if (fits(row, query) && rows.push(row) === count) break
      return rows
    }
    return {
      // oxlint-disable-next-line require-yield
      *newest(position, count) {
        return below(position, count)
      },
      // oxlint-disable-next-line require-yield
      *ranked({ top, bottom, after }, count) {
        const hits = below(top === null ? null : top + 1n, MAX_RANKED).filter(
          ({ place: position }) => bottom === null || position >= bottom,
        )
        const [first, last] = [hits[0], hits.at(-1)]
        if (first === undefined || last === undefined) return null
        const rows = hits
          .map(({ place: position, event, line, size }) => ({
            place: position,
            event,
            score: scoreText(line, size, query.includes),
          }))
          .toSorted((a, b) => b.score - a.score || (a.place < b.place ? 1 : -1))
          .filter(
            ({ score, place: position }) =>
              after === null || score < after.score || (score === after.score && position < after.place),
          )
        return { rows: rows.slice(0, count), top: first.place, bottom: last.place, count: hits.length }
      },
    }
  }
}

function fits({ kept: stored, event, role, line }: TextRow, query: CheckedTextQuery): boolean {
  const { conversation, from, until, messagesOnly, record } = query
  const time = BigInt(event.time)
  return (
    (conversation === null || stored.record.id === conversation) &&
    (query.role === null ? !messagesOnly || role !== 'tool' : role === query.role) &&
    (from === null || time >= from) &&
    (until === null || time < until) &&
    fitsRecord(stored.record, record) &&
    fitsText(line, query)
  )
}
