/** Appends the pieces of a file to a conversation's log; done again, it adds nothing. */

import { type Fact, hasCode, isQuarantined, type Store } from '../../index.ts'
import type { AppendResult } from '../../store/kit/index.ts'
import { KINDS } from '../../event/index.ts'
import { FileError } from '../failure.ts'
import type { Read } from '../input/facts.ts'
import type { Progress } from '../print/progress.ts'
import { noneIsJson } from '../input/recording.ts'
import { quoted } from '../print/text.ts'
import type { LogEnd } from './head.ts'
import { noteRead, noteStored, type ImportReport } from './report.ts'

/** How much is appended at a time: so many facts, or so many bytes of them. */
const BATCH = { facts: 200, bytes: 1 << 22 }

/** After so many lines without one of JSON among them, a file is of another kind. */
const HOPELESS = 1000

/** Some facts with their line numbers. */
export interface Batch {
  readonly facts: Fact[]
  readonly lines: number[]
}

/**
 * The facts of a file in batches. The first comes only once a line of JSON was found, so that nothing is begun for a
 * file of another kind.
 * @throws FileError when there is no such line, or when an element of an array is no JSON.
 */
export async function* batchesOf(
  read: AsyncIterable<readonly Read[]>,
  report: ImportReport,
): AsyncIterableIterator<Batch> {
  let batch: Batch = { facts: [], lines: [] }
  let bytes = 0
  for await (const some of read) {
    for (const decoded of some) {
      noteRead(report, decoded.line, decoded)
      if (report.form === 'array' && decoded.broken === 'not JSON')
        throw new FileError('not_json', `element ${decoded.line} is not JSON`)
      if (isTransient(decoded.fact)) {
        report.skipped += 1
        continue
      }
      batch.facts.push(decoded.fact)
      batch.lines.push(decoded.line)
      bytes += decoded.bytes ?? JSON.stringify(decoded.fact).length
      const full = batch.facts.length >= BATCH.facts || bytes >= BATCH.bytes
      if (!full || (isHopeless(report, batch) && batch.facts.length < HOPELESS)) continue
      refuseHopeless(report, batch)
      report.events += batch.facts.length
      yield batch
      batch = { facts: [], lines: [] }
      bytes = 0
    }
  }
  refuseHopeless(report, batch)
  report.events += batch.facts.length
  if (batch.facts.length > 0) yield batch
}

/**
 * Copies the batches into the log. @throws FileError `other_log` where another event stands in the place of one of
 * them.
 */
export async function copyInto(
  store: Store,
  batches: AsyncIterable<Batch>,
  report: ImportReport,
  start: LogEnd,
  progress: Progress,
): Promise<LogEnd> {
  let end = start
  for await (const batch of batches) {
    const { events, version, headId } = await append(store, report, batch, end.length)
    for (const [i, stored] of events.entries())
      noteStored(report, batch.lines[i] as number, batch.facts[i] as Fact, stored)
    report.added += version - end.version
    end = { length: end.length + batch.facts.length, version, headId }
    progress.tick(end.length)
  }
  return end
}

async function append(
  store: Store,
  { conversation }: ImportReport,
  { facts, lines }: Batch,
  expected: number,
): Promise<AppendResult> {
  try {
    return await store.append(conversation, facts, { mode: 'import', expected })
  } catch (error) {
    if (!hasCode(error, 'version_conflict')) throw error
  }
  // One by one, to find the line: what stands there already is not appended again.
  for (const [i, fact] of facts.entries()) {
    try {
      await store.append(conversation, [fact], { mode: 'import', expected: expected + i })
    } catch (error) {
      if (!hasCode(error, 'version_conflict')) throw error
      const why =
        expected + i === 0
          ? 'so that it was imported from another file'
          : 'as where it was imported in the middle of a reply that the file now has whole'
      throw new FileError(
        'other_log',
        `line ${lines[i]} is another event than conversation ${quoted(conversation)} has there, ${why}; ` +
          'import the file under another --conversation, or into another database',
      )
    }
  }
  return store.append(conversation, facts, { mode: 'import', expected })
}

const isTransient = (fact: Fact): boolean => !isQuarantined(fact) && !KINDS[fact.kind].stored

/** Whether nothing so far was JSON. */
const isHopeless = ({ broken, events }: ImportReport, { facts }: Batch): boolean =>
  broken !== null && broken.count === events + facts.length

function refuseHopeless(report: ImportReport, batch: Batch): void {
  if (report.broken === null || !isHopeless(report, batch)) return
  throw new FileError('not_json', noneIsJson(report.broken, report.form))
}
