/** A bounded text for an agent that takes up a conversation without its messages. */

import type { State } from '../state/state.ts'
import { checkBound } from './check-number.ts'
import { tail } from './ellipsize.ts'
import { blocksOf } from './transcript/blocks.ts'

/** How a transcript is written. Lengths are UTF-16 units. */
export interface TranscriptOptions {
  /** Its first line, by which it is known. Default: `<<RESUMED CONVERSATION>>`. */
  readonly marker?: string
  /** What is said before and after; the empty text for nothing. */
  readonly header?: string
  readonly footer?: string
  /** Longest text in all. Default: 60,000. */
  readonly maxLength?: number
  /** Longest text of one message. Default: 8,000. */
  readonly maxMessage?: number
  /** Longest block of one tool call; 0 leaves them out. Default: 2,000. */
  readonly maxTool?: number
}

const MARKER = '<<RESUMED CONVERSATION>>'
const HEADER =
  'This is what was said and done so far, the oldest first; where it was too long, the beginning is left out. Nothing of it is to be done again.'
const FOOTER = 'This is the end of the record. The conversation goes on from here.'

/** Stands for what is left out, and is followed by some text at least. */
const CUT = '...\n'
const LEAST_BODY = CUT.length + 1

/**
 * What was said and done on HEAD's branch, forgotten parts too, in at most `maxLength` UTF-16 units: the newest is
 * kept, what is older is left out, and no character is cut in two. Tool calls are shown with their results. Null when
 * there is nothing to show, or no room for the marker. The same state gives the same text. O(view + events read), which
 * are those that fit.
 *
 * @throws ColloquyError `evicted` when the state comes from a snapshot or `evict`, which dropped something there is
 * room for; `invalid_argument` for a length that is no whole number from 0, nor Infinity.
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'Mend the build' }] }
 * const state = replay([{ kind: 'MessageEvent', source: 'user', llm_message }])
 * resumeTranscript(state, { header: '', footer: '' }) // '<<RESUMED CONVERSATION>>\n\n[USER]: Mend the build'
 */
export function resumeTranscript(state: State, options: TranscriptOptions = {}): string | null {
  const { marker = MARKER, header = HEADER, footer = FOOTER } = options
  const maxLength = checkBound('maxLength', options.maxLength ?? 60_000, 0)
  const limits = {
    maxMessage: checkBound('maxMessage', options.maxMessage ?? 8_000, 0),
    maxTool: checkBound('maxTool', options.maxTool ?? 2_000, 0),
  }
  if (maxLength < marker.length) return null
  const body = newest(blocksOf(state, limits), maxLength)
  if (body === '') return null
  const frame = (text: string) =>
    [marker, header, text, footer].filter((part) => part.trim() !== '').join('\n\n')
  const room = maxLength - (frame('x').length - 1)
  if (room >= LEAST_BODY) return frame(body.length <= room ? body : CUT + tail(body, room - CUT.length))
  const left = maxLength - marker.length - 1
  return left > 0 ? `${marker}\n${tail(body, left)}` : marker
}

/** The blocks in the order of the log: all of them, or so many of the newest that they are longer than `max`. */
function newest(blocks: Iterable<string>, max: number): string {
  const taken: string[] = []
  let length = 0
  for (const block of blocks) {
    taken.push(block)
    length += block.length + 2
    if (length - 2 > max) break
  }
  return taken.toReversed().join('\n\n')
}
