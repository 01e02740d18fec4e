/** Moves images out of tool results, for grammars whose results hold text only. */

import { imageFollows, imageMoved } from './phrases.ts'
import { type ImagePiece, type Piece, textPiece } from './pieces.ts'
import type { Result } from './turns.ts'

/** The results of one turn, and what a user message behind the last of them shows. */
export interface Moved {
  readonly results: readonly Result[]
  /** Each moved image behind a line with its number; empty when none was moved. */
  readonly pieces: readonly Piece[]
}

/** The results without the images that must move. O(pieces). */
export function moveImages(
  results: readonly Result[],
  mustMove: (piece: ImagePiece, result: Result) => boolean,
): Moved {
  const pieces: Piece[] = []
  let number = 0
  const kept = results.map((result): Result => ({
    ...result,
    pieces: result.pieces.map((piece) => {
      if (piece.type === 'text' || !mustMove(piece, result)) return piece
      number += 1
      pieces.push(textPiece(imageFollows(number)), piece)
      return textPiece(imageMoved(number))
    }),
  }))
  return { results: kept, pieces }
}
