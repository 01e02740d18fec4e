/** Runs the caller's own patterns on pieces of a text, which bounds what a slow one costs. */

import { findAll } from './built-in.ts'
import type { Finder } from './hit.ts'

/** How many characters of a text a pattern sees at once. */
export const PIECE = 16_384
/** How many characters two pieces share: a match that is no longer is found wherever it stands. */
export const OVERLAP = 4_096

/**
 * Finds every match, or the part of it that a group named `secret` matched. Longer texts than {@link PIECE} are
 * searched piece by piece, so that the time grows with the length whatever the pattern does within a piece. A pattern
 * that the engine gives up on has found everything: the text is one hit. O(length · what the pattern takes in a piece).
 */
export function ownFinder(patterns: readonly RegExp[]): Finder | null {
  const own = patterns.map(({ source, flags }) => {
    const named = source.includes('(?<secret>')
    return new RegExp(source, [...new Set(`${flags.replace('y', '')}g${named ? 'd' : ''}`)].join(''))
  })
  if (own.length === 0) return null
  return (text, report) => {
    for (const pattern of own) {
      try {
        for (let from = 0; ;) {
          const to = from + PIECE
          let cut = to
          const part = text.length <= PIECE ? text : text.slice(from, to)
          findAll(
            pattern,
            part,
            (start, end, secret, rank) => {
              report(start, end, secret, rank)
              // What the piece cut off is looked at again, from its beginning.
              if (end === to && start > from) cut = start
            },
            from,
          )
          if (to >= text.length) break
          from = Math.min(cut, to - OVERLAP)
        }
      } catch {
        report(0, text.length, text, 'pattern')
      }
    }
  }
}
