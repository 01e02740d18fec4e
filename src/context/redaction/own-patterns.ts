/** Runs the caller's own patterns on pieces of a text, which bounds what a slow one costs. */

import { reportMatch } from './built-in.ts'
import type { Finder, OnHit } from './hit.ts'

/** How many characters of a text a pattern sees at once. */
export const PIECE = 16_384
/** How many characters two pieces share: a match that is no longer is found wherever it stands. */
export const OVERLAP = 4_096
/** How many characters before and behind a match a pattern sees at least, where the text has so many. */
export const CONTEXT = 1_024

/** Whether a pattern asks for an end of the whole text, of which a piece has others. */
const asksForEnds = ({ source, multiline }: RegExp): boolean =>
  !multiline && /[$^]/.test(source.replaceAll(/\\./gs, '').replaceAll(/\[[^\]]*/g, ''))

/**
 * Finds every match, or the part of it that a group named `secret` matched. Longer texts than {@link PIECE} are
 * searched piece by piece, so that the time grows with the length whatever the pattern does within a piece; but a
 * pattern with `^` or `$` that mean the whole text is run on the whole of it. A pattern that the engine gives up on has
 * found everything: the text is one hit. O(length · what the pattern takes in a piece).
 */
export function ownFinder(patterns: readonly RegExp[]): Finder | null {
  const own = patterns.map(({ source, flags }) => {
    const named = source.includes('(?<secret>')
    return new RegExp(source, [...new Set(`${flags.replace('y', '')}g${named ? 'd' : ''}`)].join(''))
  })
  if (own.length === 0) return null
  return (text, report) => {
    for (const pattern of own) {
      const size = asksForEnds(pattern) ? text.length : PIECE
      try {
        // A piece begins where the one before ended, or at a match that the one before cut off.
        for (let piece: Piece | null = { from: 0, start: 0 }; piece !== null;)
          piece = searchPiece(pattern, text, piece, size, report)
      } catch {
        report(0, text.length, text, 'pattern')
      }
    }
  }
}

/** A piece of a text: where it starts, and from where on matches may begin in it. */
interface Piece {
  readonly start: number
  readonly from: number
}

/** Gives the matches in a piece. Returns the next piece; null behind the last. */
function searchPiece(
  pattern: RegExp,
  text: string,
  { start, from }: Piece,
  size: number,
  report: OnHit,
): Piece | null {
  const end = Math.min(text.length, start + Math.max(size, PIECE))
  const isLast = end === text.length
  const part = start === 0 && isLast ? text : text.slice(start, end)
  // What begins later, the next piece sees whole.
  const next = isLast ? end : end - OVERLAP
  let done = next
  pattern.lastIndex = from - start
  for (let match = pattern.exec(part); match !== null; match = pattern.exec(part)) {
    const begin = start + match.index
    const stop = begin + match[0].length
    if (!isLast && begin >= next) break
    if (!isLast && stop > end - CONTEXT) {
      // It may be cut off, or see an end where none is: it is looked at again, from its beginning.
      if (begin > from) return pieceFrom(begin)
      reportMatch(match, start, report)
      // One that is longer than a piece goes on in the next, as if it began there.
      return stop === end ? { start: next, from: next } : pieceFrom(stop)
    }
    reportMatch(match, start, report)
    if (stop === begin) pattern.lastIndex += 1
    done = Math.max(done, stop)
  }
  return isLast ? null : pieceFrom(done)
}

const pieceFrom = (from: number): Piece => ({ from, start: Math.max(0, from - CONTEXT) })
