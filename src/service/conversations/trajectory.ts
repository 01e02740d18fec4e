import { Zip, ZipDeflate } from 'fflate'
import { wireEvent } from '../events/search.ts'
import { streamOf } from '../http/app.ts'
import { HttpProblem } from '../http/problem.ts'
import { MAX_PAGE_SIZE } from '../../store/contract/query.ts'
import type { ConversationRecord } from '../../store/contract/conversation-record.ts'
import type { Store } from '../../store/contract/store.ts'
import { plainId } from './find-conversation.ts'

const MAX_FILES = 65_535

interface ZipFile {
  readonly path: string
  readonly text: string
}

interface Layout {
  readonly meta: string
  readonly event: (seq: number, id: string) => string
}

const safe = (id: string): string => encodeURIComponent(id).replaceAll('.', '%2E').slice(0, 200)

export const folderLayout = ({ id }: ConversationRecord): Layout => {
  const folder = safe(plainId(id))
  return {
    meta: `${folder}/meta.json`,
    event: (seq, event) => `${folder}/events/event-${String(seq).padStart(5, '0')}-${safe(event)}.json`,
  }
}

export const FLAT: Layout = {
  meta: 'meta.json',
  event: (seq, event) => `event_${String(seq).padStart(6, '0')}_${safe(event)}.json`,
}

/**
 * Returns a zip of `meta` and all events, written while it is sent. Omits lines that are not events.
 * @throws HttpProblem 413 if the log has more events than a zip can have files.
 */
export function trajectory(store: Store, record: ConversationRecord, meta: object, layout: Layout): Response {
  if (record.version >= MAX_FILES)
    throw new HttpProblem(413, 'The log is too long for a zip. Use `colloquy export --format directory`.')
  const name = plainId(record.id)
    .replaceAll(/[^\w.-]/g, '_')
    .slice(0, 100)
  return new Response(streamOf(zipOf(filesOf(store, record, meta, layout))), {
    headers: {
      'content-type': 'application/zip',
      'content-disposition': `attachment; filename="${name}.zip"`,
    },
  })
}

/** Writes a zip on demand. Only one file, and the names of all files, are in memory. */
async function* zipOf(files: AsyncIterable<ZipFile>): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder()
  // The earliest date that a zip can contain. The events contain their own times.
  const mtime = new Date(1980, 0, 1)
  const written: Uint8Array[] = []
  const zip = new Zip((error, chunk) => {
    if (error !== null) throw error
    written.push(chunk)
  })
  for await (const { path, text } of files) {
    const file = Object.assign(new ZipDeflate(path, { level: 0 }), { mtime })
    zip.add(file)
    file.push(encoder.encode(text), true)
    yield* written.splice(0)
  }
  zip.end()
  yield* written
}

async function* filesOf(
  store: Store,
  { id, version }: ConversationRecord,
  meta: object,
  layout: Layout,
): AsyncGenerator<ZipFile, void, undefined> {
  yield { path: layout.meta, text: JSON.stringify(meta) }
  let from = 0
  while (from < version) {
    const events = await store.read(id, { from, limit: Math.min(MAX_PAGE_SIZE, version - from) })
    // The conversation was deleted meanwhile.
    if (events.length === 0) return
    for (const stored of events) {
      const event = wireEvent(stored)
      if (event !== null)
        yield { path: layout.event(stored.seq, stored.id ?? String(stored.seq)), text: JSON.stringify(event) }
    }
    from += events.length
  }
}
