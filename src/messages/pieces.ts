/** Splits the content of messages into texts, single images and parts of other kinds that can be sent. */

import type {
  Places,
  PartTable,
  TextPiece,
  ImagePiece,
  BlockPiece,
  Piece,
  Takes,
  AssistantTurn,
  Result,
} from './limits.ts'
import { imageFollows, imageMoved, NO_IMAGE, partFollows, partMoved } from './phrases.ts'
import { isImagePart, isTextPart, type Content, type JsonObject, type OpenPart } from '../event/shapes.ts'
import { type Digest, digestBeside, digestOf, digestOfAll, keptBeside } from './digest.ts'
import { readImage, readPart, textOfFile } from './files.ts'
import { isWhitespace, objectOf, wellFormed } from './text.ts'

/** How a part is said. */
type PartForm =
  | ({ readonly as: 'block'; readonly block: JsonObject } & Places)
  | { readonly as: 'text'; readonly text: string }
  | { readonly as: 'image'; readonly url: string }
  | { readonly as: 'name' }

/** For content in which nothing but words can stand. */
const WORDS_ONLY: PartTable = { kinds: {}, write: () => null, user: false, result: false }

const BY_NAME: PartForm = { as: 'name' }

/** The latest form of each part of a log. */
const KNOWN = new WeakMap<OpenPart, { readonly table: PartTable; readonly form: PartForm }>()

/** The form of a part in a grammar. O(size) the first time; a part that is not frozen may change, and is read again. */
export function formOf(part: OpenPart, table: PartTable): PartForm {
  const known = KNOWN.get(part)
  if (known?.table === table) return known.form
  const form = read(part, table)
  if (Object.isFrozen(part)) KNOWN.set(part, { table, form })
  return form
}

function read(part: OpenPart, table: PartTable): PartForm {
  const said = readPart(part)
  const text = said?.as === 'file' ? textOfFile(said.file) : null
  const own = Object.hasOwn(table.kinds, part.type) ? table.kinds[part.type] : undefined
  if (own !== undefined && (text === null || table.textFiles === true)) {
    const { cache_prompt: _, cache_control: __, ...block } = part as JsonObject
    const { user, result, item = false } = own
    if (own.fits(block)) return { as: 'block', block, user, result, item }
  }
  if (said === null) return BY_NAME
  if (text !== null) return { as: 'text', text }
  if (said.as !== 'file') return said
  const block = table.write(said.file)
  return block === null ? BY_NAME : { as: 'block', block, user: table.user, result: table.result }
}

/** Longer kinds and names say no more. */
const LONGEST = 100

/**
 * What a part is called: its kind, and the title, the name of its file or of the tool that it bears. O(1).
 *
 * @example
 * partName({ type: 'document', title: 'Plan' }) // 'document "Plan"'
 */
export function partName(part: OpenPart): string {
  const { type, title, filename, file, resource, tool_name } = part
  const name = [title, filename, objectOf(file)['filename'], objectOf(resource)['uri'], tool_name].find(
    (each) => typeof each === 'string' && !isWhitespace(each),
  )
  return typeof name === 'string' ? `${oneLine(type)} "${oneLine(name)}"` : oneLine(type)
}

/** The text in place of a part that cannot be sent. O(1). */
export const placeholderOf = (part: OpenPart): string =>
  `[A part that cannot be shown here: ${partName(part)}.]`

/** The beginning of a text, on one line. */
const oneLine = (text: string): string =>
  wellFormed(text.slice(0, LONGEST).replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '))

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

/** The digest of a piece as it is sent, cache marks aside. O(length) the first time. */
export function pieceDigest(piece: Piece): Digest {
  if (piece.type === 'text') return digestOfAll('text', digestBeside(piece.source, 0, piece.text))
  if (piece.type === 'block') return digestOfAll('block', blockDigest(piece.block))
  const { image, source, slot } = piece
  const [kind, body] = image.from === 'web' ? ['web', image.url] : [image.mediaType, image.data]
  return digestOfAll('image', digestOf(kind), digestBeside(source, slot, body))
}

/** Kept beside the block, which stays the same object for the same part of a log. */
const blockDigest = /* @__PURE__ */ keptBeside((block: JsonObject) => digestOf(JSON.stringify(block)))

/** The texts as one, a line break between two. */
export const joinTexts = (pieces: readonly TextPiece[]): string =>
  pieces.map((piece) => piece.text).join('\n')

/** The results of one turn, and what a user message behind the last of them shows. */
export interface Moved {
  readonly results: readonly Result[]
  /** Each moved piece behind a line with its number; empty when none was moved. */
  readonly pieces: readonly Piece[]
}

/**
 * The results without the images that must move, and the parts that results do not take; in results of errors only
 * words stand where `errors` says so. A part that must move is named where users cannot send it, and where the reply
 * waits, since a user message would end it. O(pieces).
 */
export function moveParts(
  { results, waits }: Pick<AssistantTurn, 'results' | 'waits'>,
  mustMove: (piece: ImagePiece, result: Result) => boolean,
  errors: 'words' | 'any',
): Moved {
  const pieces: Piece[] = []
  let number = 0
  const move = (piece: ImagePiece | BlockPiece): Piece => {
    const isImage = piece.type === 'image'
    if (waits || (!isImage && !piece.user))
      return textPiece(isImage ? NO_IMAGE : placeholderOf(piece.source), piece.cache)
    number += 1
    pieces.push(textPiece(isImage ? imageFollows(number) : partFollows(number)), piece)
    return textPiece(isImage ? imageMoved(number) : partMoved(number))
  }
  const kept = results.map((result): Result => {
    const wordsOnly = errors === 'words' && result.isError
    return {
      ...result,
      pieces: result.pieces.map((piece) => {
        if (piece.type === 'text') return piece
        const moves = wordsOnly || (piece.type === 'image' ? mustMove(piece, result) : !piece.result)
        return moves ? move(piece) : piece
      }),
    }
  })
  return { results: kept, pieces }
}
