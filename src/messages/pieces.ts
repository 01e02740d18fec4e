/** Splits the content of messages into texts, single images and parts of other kinds that can be sent. */

import { isImagePart, isTextPart, type Content, type JsonObject, type OpenPart } from '../event/shapes.ts'
import { type Digest, digestBeside, digestOf, digestOfAll } from './digest.ts'
import { readPart } from './files.ts'
import { type Image, readImage } from './images.ts'
import { keptBeside } from './kept-beside.ts'
import { formOf, type PartTable, type Places, WORDS_ONLY } from './part-forms.ts'
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

/** A part of another kind, in the words of the grammar. */
export interface BlockPiece extends Places {
  readonly type: 'block'
  readonly block: JsonObject
  readonly cache: boolean
  readonly source: OpenPart
}

export type Piece = TextPiece | ImagePiece | BlockPiece

/** What a grammar takes beside texts. */
export interface Takes {
  readonly takesImage: (image: Image) => boolean
  readonly parts: PartTable
}

/**
 * The pieces of content, in order. An image that the grammar does not take, or that cannot be read, becomes a short
 * text, and a part of another kind that it cannot say its name. A part that may stand in one place alone is kept for
 * the other one to be moved there. O(content).
 */
export function piecesOf(content: readonly Content[], takes: Takes, place: 'user' | 'result'): Piece[] {
  return content.flatMap((part) => {
    const cache = part.cache_prompt === true
    if (isTextPart(part)) return isWhitespace(part.text) ? [] : [textPiece(part.text, cache, part)]
    if (isImagePart(part)) {
      const last = part.image_urls.length - 1
      return part.image_urls.map((url, slot) => imagePiece(url, slot, cache && slot === last, part, takes))
    }
    return [openPiece(part, takes, place)]
  })
}

function imagePiece(
  url: string,
  slot: number,
  cache: boolean,
  source: Content,
  { takesImage }: Takes,
): ImagePiece | TextPiece {
  const image = readImage(url)
  return image !== null && takesImage(image)
    ? { type: 'image', image, cache, source, slot }
    : textPiece(NO_IMAGE, cache)
}

function openPiece(part: OpenPart, takes: Takes, place: 'user' | 'result'): Piece {
  const cache = part['cache_prompt'] === true || (part['cache_control'] ?? null) !== null
  const form = formOf(part, takes.parts)
  if (form.as === 'image') return imagePiece(form.url, 0, cache, part, takes)
  if (form.as === 'text') return textPiece(form.text, cache)
  const fits = form.as === 'block' && (place === 'result' ? canMove(form) || form.result : form.user)
  if (!fits) return textPiece(placeholderOf(part), cache)
  const { block, user, result, item = false } = form
  return { type: 'block', block, user, result, item, cache, source: part }
}

const canMove = ({ user, item = false }: Places): boolean => user && !item

/** The same for content that may hold no image at all. */
export function textsOf(content: readonly Content[]): TextPiece[] {
  return piecesOf(content, { takesImage: () => false, parts: WORDS_ONLY }, 'user').filter(isText)
}

/** Whether a piece stands beside messages and not in them. */
export const isItem = (piece: Piece): piece is BlockPiece => piece.type === 'block' && piece.item === true

/** A piece where no item can stand: what one says, or else its name; all else as it is. */
export function inWords(piece: Piece, takes: Takes): Piece {
  if (!isItem(piece)) return piece
  const { source, cache } = piece
  const said = readPart(source)
  if (said?.as === 'text') return textPiece(said.text, cache)
  if (said?.as === 'image') return imagePiece(said.url, 0, cache, source, takes)
  return textPiece(placeholderOf(source), cache)
}

export const isText = (piece: Piece): piece is TextPiece => piece.type === 'text'

export const textPiece = (text: string, cache = false, source: Content | null = null): TextPiece => ({
  type: 'text',
  text: wellFormed(text),
  cache,
  source,
})

const [TEXT, IMAGE, BLOCK] = [digestOf('text'), digestOf('image'), digestOf('block')] as const

/** The digest of a piece as it is sent, cache marks aside. O(length) the first time. */
export function pieceDigest(piece: Piece): Digest {
  if (piece.type === 'text') return digestOfAll(TEXT, digestBeside(piece.source, 0, piece.text))
  if (piece.type === 'block') return digestOfAll(BLOCK, blockDigest(piece.block))
  const { image, source, slot } = piece
  const [kind, body] = image.from === 'web' ? ['web', image.url] : [image.mediaType, image.data]
  return digestOfAll(IMAGE, digestOf(kind), digestBeside(source, slot, body))
}

/** Kept beside the block, which stays the same object for the same part of a log. */
const blockDigest = /* @__PURE__ */ keptBeside((block: JsonObject) => digestOf(JSON.stringify(block)))

/** The texts as one, a line break between two. */
export const joinTexts = (pieces: readonly TextPiece[]): string =>
  pieces.map((piece) => piece.text).join('\n')
