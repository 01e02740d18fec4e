/** Takes content apart: the parts of a message go in, texts that say something and single images that can be sent come out. */

import type { Content } from '../event/shapes.ts'
import { type Image, readImage } from './images.ts'
import { isImage } from './message.ts'
import { NO_IMAGE } from './phrases.ts'
import { isBlank, wellFormed } from './text.ts'

/** A text that says something. */
export interface TextPiece {
  readonly type: 'text'
  readonly text: string
  /** Whether a prefix that should be cached ends here. */
  readonly cache: boolean
}

/** One image. */
export interface ImagePiece {
  readonly type: 'image'
  readonly image: Image
  readonly cache: boolean
}

export type Piece = TextPiece | ImagePiece

/** The pieces of content, in order; an image that `takes` refuses, or nobody can read, becomes a short text. O(content). */
export function piecesOf(content: readonly Content[], takes: (image: Image) => boolean): Piece[] {
  const pieces: Piece[] = []
  for (const part of content) {
    const cache = part.cache_prompt === true
    if (!isImage(part)) {
      if (!isBlank(part.text)) pieces.push(textPiece(part.text, cache))
      continue
    }
    for (const [index, url] of part.image_urls.entries()) {
      const image = readImage(url)
      const last = cache && index === part.image_urls.length - 1
      pieces.push(
        image !== null && takes(image) ? { type: 'image', image, cache: last } : textPiece(NO_IMAGE, last),
      )
    }
  }
  return pieces
}

/** The same for content that may hold no image at all. */
export function textsOf(content: readonly Content[]): TextPiece[] {
  return piecesOf(content, () => false).filter(isText)
}

export const isText = (piece: Piece): piece is TextPiece => piece.type === 'text'

export const textPiece = (text: string, cache = false): TextPiece => ({
  type: 'text',
  text: wellFormed(text),
  cache,
})

/** The texts as one, a line break between two. */
export const joinTexts = (pieces: readonly TextPiece[]): string =>
  pieces.map((piece) => piece.text).join('\n')
