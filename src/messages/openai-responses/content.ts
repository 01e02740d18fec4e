/** Writes texts, images and files as the parts that OpenAI Responses takes in messages and results. */

import { urlOf } from '../images.ts'
import { inWords, isText, joinTexts, type Piece, type TextPiece } from '../pieces.ts'
import { LIMITS } from './limits.ts'
import type { ResponsesPart } from './part-shapes.ts'
import type { ResponsesFunctionCallOutput, ResponsesImage, ResponsesText } from './types.ts'

/** What a result says: a text where that is all. O(pieces). */
export function contentOf(pieces: readonly Piece[]): ResponsesFunctionCallOutput['output'] {
  const said = pieces.map((piece) => inWords(piece, LIMITS))
  return said.every(isText) ? joinTexts(said) : said.map(partOf)
}

export function partOf(piece: Piece): ResponsesText | ResponsesImage | ResponsesPart {
  if (piece.type === 'text') return textPart(piece)
  // The table of parts has proved its shape.
  if (piece.type === 'block') return { ...piece.block } as object as ResponsesPart
  return { type: 'input_image', image_url: urlOf(piece.image), detail: 'auto' }
}

export const textPart = ({ text }: TextPiece): ResponsesText => ({ type: 'input_text', text })
