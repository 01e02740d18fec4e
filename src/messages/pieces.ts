import { ownField } from '../event/json.ts'
import type {
  Positions,
  PartTable,
  TextPiece,
  ImagePiece,
  BlockPiece,
  Piece,
  AcceptedContent,
  AssistantTurn,
  Result,
} from './limits.ts'
import { imageFollows, imageMoved, NO_IMAGE, partFollows, partMoved } from './phrases.ts'
import { isImagePart, isTextPart, type Content, type JsonObject, type OpenPart } from '../event/shapes.ts'
import { type Digest, cachedDigest, digestOf, digestOfAll, memoize } from './digest.ts'
import { type Image, readImage, readPart, textOfFile } from './files.ts'
import { hasText } from '../event/text.ts'
import { isWhitespace, objectOf } from './text.ts'

type PartForm =
  | ({ readonly as: 'block'; readonly block: JsonObject } & Positions)
  | { readonly as: 'text'; readonly text: string }
  | { readonly as: 'image'; readonly url: string }
  | { readonly as: 'name' }

const WORDS_ONLY: PartTable = { kinds: {}, write: () => null, user: false, result: false }

const BY_NAME: PartForm = { as: 'name' }

const PART_FORMS = new WeakMap<OpenPart, { readonly table: PartTable; readonly form: PartForm }>()

/** Returns the form of a part. The form of a frozen part is cached; other parts may change. */
export function formOf(part: OpenPart, table: PartTable): PartForm {
  const known = PART_FORMS.get(part)
  if (known?.table === table) return known.form
  const form = read(part, table)
  if (Object.isFrozen(part)) PART_FORMS.set(part, { table, form })
  return form
}

function read(part: OpenPart, table: PartTable): PartForm {
  const reading = readPart(part)
  const text = reading?.as === 'file' ? textOfFile(reading.file) : null
  const accepted = ownField(table.kinds, part.type)
  if (accepted !== undefined && (text === null || table.textFiles === true)) {
    const { cache_prompt: _, cache_control: __, ...block } = part as JsonObject
    const { fits, ...positions } = accepted
    if (fits(block)) return { as: 'block', block, ...positions }
  }
  if (reading === null) return BY_NAME
  if (text !== null) return { as: 'text', text }
  if (reading.as !== 'file') return reading
  const block = table.write(reading.file)
  return block === null ? BY_NAME : { as: 'block', block, user: table.user, result: table.result }
}

const MAX_NAME_LENGTH = 100

/**
 * Returns the name of a part: its kind, and its title, file name or tool name if it has one. O(1).
 * @example
 * partName({ type: 'document', title: 'Plan' }) // 'document "Plan"'
 */
export function partName(part: OpenPart): string {
  const { type, title, filename, file, resource, tool_name } = part
  const names = [title, filename, objectOf(file)['filename'], objectOf(resource)['uri'], tool_name]
  const name = names.find(hasText)
  return name !== undefined ? `${oneLine(type)} "${oneLine(name)}"` : oneLine(type)
}

export const placeholderOf = (part: OpenPart): string =>
  `[A part that cannot be shown here: ${partName(part)}.]`

const oneLine = (text: string): string =>
  text
    .slice(0, MAX_NAME_LENGTH)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
    .toWellFormed()

/**
 * Returns the pieces of content in order. An unsupported image becomes a short text; any other unsupported
 * part becomes a placeholder with its name. In a result, parts that only user messages accept are kept,
 * because `moveParts` can move them. O(content).
 */
export function piecesOf(
  content: readonly Content[],
  accepts: AcceptedContent,
  position: 'user' | 'result',
): Piece[] {
  return content.flatMap((part) => {
    const cache = part.cache_prompt === true
    if (isTextPart(part)) return isWhitespace(part.text) ? [] : [textPiece(part.text, cache, part)]
    if (isImagePart(part)) {
      const last = part.image_urls.length - 1
      return part.image_urls.map((url, slot) => imagePiece(url, slot, cache && slot === last, part, accepts))
    }
    return [openPiece(part, accepts, position)]
  })
}

function imagePiece(
  url: string,
  slot: number,
  cache: boolean,
  source: Content,
  { acceptsImage }: AcceptedContent,
): ImagePiece | TextPiece {
  const image = readImage(url)
  return image !== null && acceptsImage(image)
    ? { type: 'image', image, cache, source, slot }
    : textPiece(NO_IMAGE, cache)
}

function openPiece(part: OpenPart, accepts: AcceptedContent, position: 'user' | 'result'): Piece {
  const cache = part['cache_prompt'] === true || (part['cache_control'] ?? null) !== null
  const form = formOf(part, accepts.parts)
  const fits = form.as === 'block' && (position === 'result' ? canMove(form) || form.result : form.user)
  return fits ? { ...form, type: 'block', cache, source: part } : plainPiece(form, part, cache, accepts)
}

const plainPiece = (
  form: PartForm | ReturnType<typeof readPart>,
  part: OpenPart,
  cache: boolean,
  accepts: AcceptedContent,
): ImagePiece | TextPiece =>
  form?.as === 'image'
    ? imagePiece(form.url, 0, cache, part, accepts)
    : textPiece(form?.as === 'text' ? form.text : placeholderOf(part), cache)

const canMove = ({ user, item }: Positions): boolean => user && item !== true

export function textPieces(content: readonly Content[]): TextPiece[] {
  return piecesOf(content, { acceptsImage: () => false, parts: WORDS_ONLY }, 'user').filter(isText)
}

export const isItem = (piece: Piece): piece is BlockPiece => piece.type === 'block' && piece.item === true

/** Converts a piece that is an item of the request to text or an image, for positions that allow no items. */
export const itemAsText = (piece: Piece, accepts: AcceptedContent): Piece =>
  isItem(piece) ? plainPiece(readPart(piece.source), piece.source, piece.cache, accepts) : piece

export const isText = (piece: Piece): piece is TextPiece => piece.type === 'text'

export const textPiece = (text: string, cache = false, source: Content | null = null): TextPiece => ({
  type: 'text',
  text: text.toWellFormed(),
  cache,
  source,
})

/** Returns a function that writes a piece. It only copies a `block`, which the grammar's table made or checked. */
export const blockWriter =
  <Block>(text: (text: string) => Block, image: (image: Image) => Block) =>
  (piece: Piece): Block => {
    if (piece.type === 'text') return text(piece.text)
    return piece.type === 'image' ? image(piece.image) : ({ ...piece.block } as Block)
  }

/** Returns the digest of a piece without its cache marks. O(length) the first time. */
export function pieceDigest(piece: Piece): Digest {
  if (piece.type === 'text') return digestOfAll('text', cachedDigest(piece.source, 0, piece.text))
  if (piece.type === 'block') return digestOfAll('block', blockDigest(piece.block))
  const { image, source, slot } = piece
  const [kind, body] = image.from === 'web' ? ['web', image.url] : [image.mediaType, image.data]
  return digestOfAll('image', digestOf(kind), cachedDigest(source, slot, body))
}

/** Digest of a block, cached by object, because a frozen part of a log always has the same block object. */
const blockDigest = /* @__PURE__ */ memoize((block: JsonObject) => digestOf(JSON.stringify(block)))

export const joinTexts = (pieces: readonly TextPiece[]): string =>
  pieces.map((piece) => piece.text).join('\n')

export interface Moved {
  readonly results: readonly Result[]
  readonly pieces: readonly Piece[]
}

/**
 * Moves parts out of results into pieces for a user message: images for which `mustMove` is true, and parts
 * that results do not accept. With `errors: 'words'`, error results keep only text. A part that user messages
 * do not accept is replaced by a placeholder instead. If the reply waits for results of provider tools, a
 * placeholder replaces every moved part, because a user message would end the wait. O(pieces).
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
  const movedResults = results.map((result): Result => {
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
  return { results: movedResults, pieces }
}
