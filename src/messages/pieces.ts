/** Splits the content of messages into texts and single images that can be sent. */

import { isImagePart, isTextPart } from '../event/content.ts'
import type { Content } from '../event/shapes.ts'
import { type Digest, digestBeside, digestOf, digestOfAll } from './digest.ts'
import { type Image, readImage } from './images.ts'
import { NO_IMAGE } from './phrases.ts'
import { placeholderOf } from './placeholder.ts'
import { isWhitespace, wellFormed } from './text.ts'

/** A text that says something. */
export interface TextPiece {
  readonly type: 'text'
  readonly text: string
  /** Whether a prefix that should be cached ends here. */
  readonly cache: boolean
  /** The part of the log that it comes from; null for a sentence of ours. */
  readonly source: Content | null
}

/** One image. */
export interface ImagePiece {
  readonly type: 'image'
  readonly image: Image
  readonly cache: boolean
  readonly source: Content
  /** Its index among the images of its part. */
  readonly slot: number
}

export type Piece = TextPiece | ImagePiece

/**
 * The pieces of content, in order; an image that `takes` refuses, or that cannot be read, becomes a short text.
 * O(content).
 */
export function piecesOf(content: readonly Content[], takes: (image: Image) => boolean): Piece[] {
  const pieces: Piece[] = []
  for (const part of content) {
    const cache = part.cache_prompt === true
    if (isTextPart(part)) {
      if (!isWhitespace(part.text)) pieces.push(textPiece(part.text, cache, part))
      continue
    }
    if (!isImagePart(part)) {
      pieces.push(textPiece(placeholderOf(part), cache))
      continue
    }
    for (const [index, url] of part.image_urls.entries()) {
      const image = readImage(url)
      const last = cache && index === part.image_urls.length - 1
      pieces.push(
        image !== null && takes(image)
          ? { type: 'image', image, cache: last, source: part, slot: index }
          : textPiece(NO_IMAGE, last),
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

export const textPiece = (text: string, cache = false, source: Content | null = null): TextPiece => ({
  type: 'text',
  text: wellFormed(text),
  cache,
  source,
})

const [TEXT, IMAGE] = [digestOf('text'), digestOf('image')] as const

/** The digest of a piece as it is sent, cache marks aside. O(length) the first time. */
export function pieceDigest(piece: Piece): Digest {
  if (piece.type === 'text') return digestOfAll(TEXT, digestBeside(piece.source, 0, piece.text))
  const { image, source, slot } = piece
  const [kind, body] = image.from === 'web' ? ['web', image.url] : [image.mediaType, image.data]
  return digestOfAll(IMAGE, digestOf(kind), digestBeside(source, slot, body))
}

/** The texts as one, a line break between two. */
export const joinTexts = (pieces: readonly TextPiece[]): string =>
  pieces.map((piece) => piece.text).join('\n')
