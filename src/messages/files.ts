import { attempt, isObject, ownField } from '../event/json.ts'
import type { JsonObject, JsonValue, OpenPart } from '../event/shapes.ts'
import { hasText } from '../event/text.ts'
import { isWhitespace, objectOf as readObject } from './text.ts'
import { decodeBase64, decodeText, isTextFile } from './text-files.ts'

/** Image formats that are sent as bytes. Google refuses GIF. */
export type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'

export type Image =
  | { readonly from: 'data'; readonly mediaType: ImageType; readonly data: string }
  | { readonly from: 'web'; readonly url: string; readonly secure: boolean }

/** Parses a reference to an image; null for an unsupported scheme or format, or broken base64. O(length). */
export function readImage(reference: string): Image | null {
  const url = reference.trim()
  return /^data:/i.test(url) ? readDataUrl(url) : readWebUrl(url)
}

export function urlOf(image: Image): string {
  return image.from === 'web' ? image.url : `data:${image.mediaType};base64,${image.data}`
}

export function screenshotUrl(data: string): string | null {
  if (data === '') return null
  if (data.startsWith('data:')) return data
  return `data:${imageTypeOf(data) ?? 'image/png'};base64,${data}`
}

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const HOST = `(?:(?:[a-z0-9_-]+\\.){0,126}[a-z][a-z0-9-]*\\.?|${OCTET}(?:\\.${OCTET}){3})`
/**
 * Matches a web address. It limits host and port to 260 characters, because longer ones could overflow the
 * stack.
 */
const WEB_URL = new RegExp(`^(https?)://(?![^/?#]{261})${HOST}(?::(\\d{1,5}))?([/?#][^]*)?$`, 'i')

/**
 * Parses a web address; null if it is invalid or has a password. It does not use `URL`, which a bare
 * JavaScript engine lacks.
 */
function readWebUrl(url: string): Image | null {
  const match = WEB_URL.exec(url)
  if (match === null || Number(match[2] ?? 0) > 65_535) return null
  // An address may be signed, so it is sent unchanged; only characters that are not visible ASCII are
  // encoded.
  const end = match[3] ?? ''
  const path = end.toWellFormed().replace(/[^!-~]+/g, encodeURIComponent)
  const start = url.slice(0, url.length - end.length)
  return { from: 'web', url: start + path, secure: match[1]?.toLowerCase() === 'https' }
}

function readDataUrl(url: string): Image | null {
  const comma = url.indexOf(',')
  const [declared = '', ...parameters] = url.slice('data:'.length, comma).toLowerCase().split(';')
  if (comma < 0 || parameters.at(-1)?.trim() !== 'base64') return null
  const data = url.slice(comma + 1).replace(/\s+/g, '')
  if (!isBase64(data)) return null
  const type = declared.trim().replace('/jpg', '/jpeg')
  const mediaType = imageTypeOf(data) ?? IMAGE_TYPES.find((each) => each === type)
  return mediaType === undefined ? null : { from: 'data', mediaType, data }
}

const IMAGE_TYPES: readonly ImageType[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

export function typeOfUrl(url: string): string {
  const ending = /\.([a-z]+)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? ''
  return ['gif', 'heic', 'heif', 'png', 'webp'].includes(ending) ? `image/${ending}` : 'image/jpeg'
}

/**
 * Detects an image's format from its first bytes, because providers refuse an image with a wrong declared
 * type.
 */
export function imageTypeOf(base64: string): ImageType | undefined {
  if (base64.startsWith('/9j/')) return 'image/jpeg'
  if (base64.startsWith('iVBORw0KGgo')) return 'image/png'
  if (base64.startsWith('R0lGOD')) return 'image/gif'
  // "RIFF", four bytes of length, and "WEBP", whose letters "EBP" are the four base64 digits from index 12.
  return base64.startsWith('UklGR') && base64.startsWith('RUJQ', 12) ? 'image/webp' : undefined
}

type FileHost = 'openai' | 'anthropic' | 's3'

export interface FileRef {
  readonly mediaType: string | null
  readonly from:
    | { readonly data: string }
    | { readonly url: string }
    | { readonly id: string; readonly provider: FileHost }
  readonly name: string | null
}

type Field = JsonValue | undefined

type Reading =
  | { readonly as: 'text'; readonly text: string }
  | { readonly as: 'image'; readonly url: string }
  | { readonly as: 'file'; readonly file: FileRef }

/**
 * Reads a part that is neither plain text nor an image. Returns null if only the part's own grammar can
 * express it. O(size).
 */
export function readPart(part: OpenPart): Reading | null {
  return ownField(READERS, part.type)?.(part as JsonObject) ?? null
}

export const isPartType = (type: string): boolean => Object.hasOwn(READERS, type)

const READERS: Readonly<Record<string, (part: JsonObject) => Reading | null>> = {
  input_text: ({ text }) => textReading(text),
  input_image: ({ image_url }) => imageReading(image_url),
  image_url: ({ image_url }) => imageReading(objectOf(image_url)['url']),
  document: readDocument,
  search_result: readSearchResult,
  input_file: ({ file_data, file_url, file_id, filename }) =>
    openAIFile(file_data, file_url, file_id, filename),
  input_audio: readAudio,
  file: readFile,
  // Older names of the AI SDK, in tool results.
  'file-data': ({ data, mediaType, filename }) => dataReading(data, mediaType, filename),
  'file-url': ({ url, mediaType }) => urlReading(url, mediaType),
  'file-id': ({ fileId }) => referenceReading(fileId),
  'file-reference': ({ providerReference }) => referenceReading(providerReference),
  'image-data': ({ data, mediaType }) => dataReading(data, mediaType),
  'image-url': ({ url }) => imageReading(url),
  media: ({ data, mediaType }) => dataReading(data, mediaType),
  // Names of MCP, in tool results.
  audio: ({ data, mimeType }) => (isText(mimeType) ? dataReading(data, mimeType) : null),
  resource: readResource,
  resource_link: readResourceLink,
  // Results of some of OpenAI's tools.
  custom_tool_call_output: readOutput,
  shell_call_output: readShellOutput,
  local_shell_call_output: readOutput,
  apply_patch_call_output: readOutput,
  computer_call_output: ({ output }) => imageReading(objectOf(output)['image_url']),
}

const PDF = 'application/pdf'

/** Whether a file is or may be a PDF. An address without an extension may be a PDF. */
export function isPdf({ mediaType, from }: FileRef): boolean {
  if ('data' in from) return from.data.startsWith('JVBERi0')
  if (mediaType !== null) return mediaType === PDF
  return (
    'url' in from &&
    !/\.(?!pdf(?:[?#]|$))[a-z]\w*(?:[?#]|$)/i.test(from.url.replace(/^https?:\/\/[^/]*/i, ''))
  )
}

export const isBase64 = (data: string): boolean =>
  data.length > 0 && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)

export function textOfFile({ from, mediaType, name }: FileRef): string | null {
  if (!('data' in from) || from.data.startsWith('JVBERi0') || !isTextFile(mediaType)) return null
  const text = decodeText(decodeBase64(from.data))
  if (text === null || isWhitespace(text)) return null
  return name === null ? text : `${name}\n${text}`
}

export function isAddress(url: string, secure: boolean): boolean {
  const read = readImage(url)
  return read?.from === 'web' && read.url === url && (read.secure || !secure)
}

function textReading(text: Field): Reading | null {
  return hasText(text) ? { as: 'text', text } : null
}

const linesReading = (...texts: readonly Field[]): Reading | null =>
  textReading(texts.filter(isText).join('\n'))

const imageReading = (url: Field): Reading | null =>
  typeof url === 'string' && readImage(url) !== null ? { as: 'image', url } : null

function readDocument({ source, title, context }: JsonObject): Reading | null {
  const { type, data, media_type, url, content, file_id } = objectOf(source)
  if (type === 'base64') return dataReading(data, media_type, title)
  if (type === 'url') return urlReading(url, null, title)
  if (type === 'file') return uploadReading(file_id, 'anthropic', null, title)
  if (type !== 'text' && type !== 'content') return null
  const texts = type === 'text' ? [data] : textsIn(content)
  return texts === null ? null : linesReading(title, context, ...texts)
}

function readSearchResult({ title, source, content }: JsonObject): Reading | null {
  const texts = textsIn(content)
  return texts === null ? null : linesReading(title, source, ...texts)
}

function readResource({ resource }: JsonObject): Reading | null {
  const { uri, mimeType, text, blob } = objectOf(resource)
  if (!isText(uri)) return null
  return typeof text === 'string' ? linesReading(uri, text) : dataReading(blob, mimeType, uri)
}

function readResourceLink({ uri, name, title, description, mimeType }: JsonObject): Reading | null {
  if (!isText(uri) || !isText(name)) return null
  return linesReading(title ?? name, uri, mimeType, description)
}

function readOutput({ output }: JsonObject): Reading | null {
  return textReading(output)
}

function readShellOutput({ output }: JsonObject): Reading | null {
  if (!Array.isArray(output)) return null
  const texts = output.flatMap((each: JsonValue) => [objectOf(each)['stdout'], objectOf(each)['stderr']])
  return linesReading(...texts)
}

function textsIn(content: Field): JsonValue[] | null {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return null
  const texts = content.map((part: JsonValue) => objectOf(part)['text'] ?? null)
  return texts.length > 0 && texts.every(isText) ? texts : null
}

function openAIFile(data: Field, url: Field, id: Field, name: Field): Reading | null {
  if (isText(data)) return dataUrl(data, name) ?? dataReading(data, null, name)
  return isText(url) ? urlReading(url, null, name) : uploadReading(id, 'openai', null, name)
}

function readAudio({ input_audio }: JsonObject): Reading | null {
  const { data, format } = objectOf(input_audio)
  if (format === 'wav') return dataReading(data, 'audio/wav')
  return format === 'mp3' ? dataReading(data, 'audio/mpeg') : null
}

/** Reads a file part. The content is in `file` in Chat Completions, and in `data` in the AI SDK. */
function readFile({ file, data, mediaType, filename }: JsonObject): Reading | null {
  if (isObject(file)) return openAIFile(file['file_data'], undefined, file['file_id'], file['filename'])
  if (isText(data))
    return (
      dataUrl(data, filename) ??
      urlReading(data, mediaType, filename) ??
      dataReading(data, mediaType, filename)
    )
  const { type, data: inner, url, text, reference } = objectOf(data)
  if (type === 'data') return dataReading(inner, mediaType, filename)
  if (type === 'url' && isText(url)) return urlReading(url, mediaType, filename)
  if (type === 'text') return linesReading(filename, text)
  return type === 'reference' ? referenceReading(reference, mediaType, filename) : null
}

function referenceReading(reference: Field, type?: Field, name?: Field): Reading | null {
  const { openai, anthropic } = objectOf(reference)
  return uploadReading(openai, 'openai', type, name) ?? uploadReading(anthropic, 'anthropic', type, name)
}

/** Matches a data URL up to its data. Groups: media type and `;base64`. */
export const DATA_URL = /^data:([^;,]{0,100})(?:;[^,;]{0,100}){0,100}?(;base64)?,/i

function dataUrl(url: string, name: Field): Reading | null {
  const [start, type = '', base64] = DATA_URL.exec(url) ?? []
  if (start === undefined) return null
  const data = url.slice(start.length)
  if (base64 !== undefined) return dataReading(data, type.toLowerCase(), name)
  if (!isTextFile(type || 'text/plain')) return null
  return attempt(() => linesReading(name, decodeURIComponent(data)), null)
}

function dataReading(data: Field, type?: Field, name?: Field): Reading | null {
  if (!isText(data) || !isBase64(data)) return null
  const url = `data:${isText(type) ? type : ''};base64,${data}`
  if (readImage(url) !== null) return { as: 'image', url }
  return fileReading(data.startsWith('JVBERi0') ? PDF : type, { data }, name)
}

function urlReading(url: Field, type?: Field, name?: Field): Reading | null {
  if (!isText(url)) return null
  if (url.startsWith('s3:')) return uploadReading(url, 's3', type, name)
  if (!isAddress(url, false)) return null
  if (isText(type) && /^image(?:\/|$)/.test(type)) return { as: 'image', url }
  return fileReading(type, { url }, name)
}

function uploadReading(id: Field, provider: FileHost, type: Field, name: Field): Reading | null {
  return isText(id) ? fileReading(type, { id, provider }, name) : null
}

const fileReading = (type: Field, from: FileRef['from'], name: Field): Reading => ({
  as: 'file',
  file: { mediaType: textOrNull(type), from, name: textOrNull(name) },
})

const isText = (value: Field): value is string => hasText(value) && value.isWellFormed()

const textOrNull = (value: Field): string | null => (isText(value) ? value : null)

const objectOf = readObject as (value: Field) => JsonObject
