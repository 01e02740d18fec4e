/** Reads the parts that say the same thing in several grammars, each in the words of its own: texts, images, files. */

import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue, OpenPart } from '../event/shapes.ts'
import { isWellFormed, isWhitespace, objectOf as found, wellFormed } from './text.ts'
import { bytesOf, decodeText, isTextFile } from './text-files.ts'

/** The formats that every provider reads. */
export type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp'

/** An image, by its bytes or by a web address. */
export type Image =
  | { readonly from: 'data'; readonly mediaType: ImageType; readonly data: string }
  | { readonly from: 'web'; readonly url: string; readonly secure: boolean }

/**
 * The image behind a reference, or null for one that no provider would take: another scheme or format, broken base64.
 * O(length).
 */
export function readImage(reference: string): Image | null {
  const url = reference.trim()
  return /^data:/i.test(url) ? readDataUrl(url) : readWebUrl(url)
}

/** The image as one URL. */
export function urlOf(image: Image): string {
  return image.from === 'web' ? image.url : `data:${image.mediaType};base64,${image.data}`
}

/**
 * A browser's screenshot as a data URL; null when there is none. It is given as base64 without a type, sometimes as a
 * data URL.
 */
export function screenshotUrl(data: string): string | null {
  if (data === '') return null
  if (data.startsWith('data:')) return data
  return `data:${sniff(data) ?? 'image/png'};base64,${data}`
}

const OCTET = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)'
const HOST = `(?:(?:[a-z0-9_-]+\\.){0,126}[a-z][a-z0-9-]*\\.?|${OCTET}(?:\\.${OCTET}){3})`
/** A name of DNS has 253 characters, with a dot and a port behind it; in much longer ones an engine's stack fills. */
const WEB_URL = new RegExp(`^(https?)://(?![^/?#]{261})${HOST}(?::(\\d{1,5}))?([/?#][^]*)?$`, 'i')

/**
 * Read by pattern, not by the global URL, which a bare JavaScript engine lacks; an address with a password in it is
 * refused.
 */
function readWebUrl(url: string): Image | null {
  const match = WEB_URL.exec(url)
  if (match === null || Number(match[2] ?? 0) > 65_535) return null
  // An address is sent as it is given, as some are signed; only what is no visible ASCII is written as bytes.
  const path = wellFormed(match[3] ?? '').replace(/[^!-~]+/g, encodeURIComponent)
  const start = url.slice(0, url.length - (match[3] ?? '').length)
  return { from: 'web', url: start + path, secure: match[1]?.toLowerCase() === 'https' }
}

function readDataUrl(url: string): Image | null {
  const comma = url.indexOf(',')
  const [declared = '', ...parameters] = url.slice('data:'.length, comma).toLowerCase().split(';')
  if (comma < 0 || parameters.at(-1)?.trim() !== 'base64') return null
  const data = url.slice(comma + 1).replace(/\s+/g, '')
  if (data.length % 4 !== 0 || !/^[a-z0-9+/]+={0,2}$/i.test(data)) return null
  const type = declared.trim().replace('/jpg', '/jpeg')
  const mediaType = sniff(data) ?? IMAGE_TYPES.find((each) => each === type)
  return mediaType === undefined ? null : { from: 'data', mediaType, data }
}

const IMAGE_TYPES: readonly ImageType[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp']

/** The media type of an image, by the ending of its address; JPEG where that has none. */
export function typeOfUrl(url: string): string {
  const ending = /\.([a-z]+)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? ''
  return ['gif', 'heic', 'heif', 'png', 'webp'].includes(ending) ? `image/${ending}` : 'image/jpeg'
}

/** The format that the first bytes tell; a provider refuses an image whose declared type is not this one. */
function sniff(base64: string): ImageType | undefined {
  if (base64.startsWith('/9j/')) return 'image/jpeg'
  if (base64.startsWith('iVBORw0KGgo')) return 'image/png'
  if (base64.startsWith('R0lGOD')) return 'image/gif'
  // "RIFF", four bytes of length, and the letters "EBP" in the four digits from the twelfth on.
  return base64.startsWith('UklGR') && base64.startsWith('RUJQ', 12) ? 'image/webp' : undefined
}

/** A file, whichever provider's words it came in. */
export interface FileRef {
  /** Null where nothing tells it. */
  readonly mediaType: string | null
  readonly from:
    | { readonly data: string }
    | { readonly url: string }
    /** A file that was uploaded to a provider, which alone knows its id. */
    | { readonly id: string; readonly provider: 'openai' | 'anthropic' }
  readonly name: string | null
}

/** What a part says, where more than one grammar can say it. */
export type Reading =
  | { readonly as: 'text'; readonly text: string }
  | { readonly as: 'image'; readonly url: string }
  | { readonly as: 'file'; readonly file: FileRef }

/** What a part of another kind says, or null where no grammar but its own can say it. O(size). */
export function readPart(part: OpenPart): Reading | null {
  const json = part as JsonObject
  return READERS.get(part.type)?.(json) ?? null
}

const READERS: ReadonlyMap<string, (part: JsonObject) => Reading | null> = new Map([
  ['input_text', ({ text }) => words(text)],
  ['input_image', ({ image_url }) => image(image_url)],
  ['image_url', ({ image_url }) => image(objectOf(image_url)['url'])],
  ['document', readDocument],
  ['search_result', readSearchResult],
  [
    'input_file',
    ({ file_data, file_url, file_id, filename }) => openAIFile(file_data, file_url, file_id, filename),
  ],
  ['input_audio', readAudio],
  ['file', readFile],
  // Older names of the AI SDK, in tool results.
  ['file-data', ({ data, mediaType, filename }) => bytes(data, mediaType, filename)],
  ['file-url', ({ url, mediaType }) => address(url, mediaType, null)],
  ['file-id', ({ fileId }) => referred(fileId, null, null)],
  ['file-reference', ({ providerReference }) => referred(providerReference, null, null)],
  ['image-data', ({ data, mediaType }) => bytes(data, mediaType, null)],
  ['image-url', ({ url }) => image(url)],
  ['media', ({ data, mediaType }) => bytes(data, mediaType, null)],
  // MCP, in tool results.
  ['audio', ({ data, mimeType }) => (isText(mimeType) ? bytes(data, mimeType, null) : null)],
  ['resource', readResource],
  ['resource_link', readResourceLink],
  // Results in the forms that OpenAI has for some of its calls.
  ['custom_tool_call_output', ({ output }) => words(output)],
  ['shell_call_output', readShellOutput],
  ['local_shell_call_output', ({ output }) => words(output)],
  ['apply_patch_call_output', ({ output }) => words(output)],
  ['computer_call_output', ({ output }) => image(objectOf(output)['image_url'])],
])

/** The type of a document, as its bytes begin. */
const PDF = 'application/pdf'

/** The formats of audio by their names in Chat Completions. */
export const AUDIO: ReadonlyMap<string, string> = new Map([
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['audio/wave', 'wav'],
  ['audio/mpeg', 'mp3'],
  ['audio/mp3', 'mp3'],
])

/** Whether a file is a PDF, or may be: an address without an ending says nothing else. O(1). */
export function isPdf({ mediaType, from }: FileRef): boolean {
  if ('data' in from) return from.data.startsWith('JVBERi0')
  if (mediaType !== null) return mediaType === PDF
  return (
    'url' in from &&
    !/\.(?!pdf(?:[?#]|$))[a-z]\w*(?:[?#]|$)/i.test(from.url.replace(/^https?:\/\/[^/]*/i, ''))
  )
}

/** Base64 in its standard alphabet. O(length). */
export const isBase64 = (data: string): boolean =>
  data.length > 0 && data.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(data)

/** The text of a file whose media type is text, below its name; null for any other file. O(length). */
export function textOfFile({ from, mediaType, name }: FileRef): string | null {
  if (!('data' in from) || from.data.startsWith('JVBERi0') || !isTextFile(mediaType, name)) return null
  const text = decodeText(bytesOf(from.data))
  if (text === null || isWhitespace(text)) return null
  return name === null ? text : `${name}\n${text}`
}

/** Whether an address is one that can be sent as it is. */
export function isAddress(url: string, secure: boolean): boolean {
  const read = readImage(url)
  return read?.from === 'web' && read.url === url && (read.secure || !secure)
}

function words(text: JsonValue | undefined): Reading | null {
  return typeof text === 'string' && !isWhitespace(text) ? { as: 'text', text } : null
}

const image = (url: JsonValue | undefined): Reading | null =>
  typeof url === 'string' && readImage(url) !== null ? { as: 'image', url } : null

/** Anthropic's. */
function readDocument({ source, title, context }: JsonObject): Reading | null {
  const { type, data, media_type, url, content, file_id } = objectOf(source)
  if (type === 'base64') return bytes(data, media_type, title)
  if (type === 'url') return address(url, null, title)
  if (type === 'file') return uploaded(file_id, 'anthropic', null, title)
  if (type !== 'text' && type !== 'content') return null
  const texts = type === 'text' ? [data] : textsIn(content)
  return texts === null ? null : words([title, context, ...texts].filter(isText).join('\n'))
}

function readSearchResult({ title, source, content }: JsonObject): Reading | null {
  const texts = textsIn(content)
  return texts === null ? null : words([title, source, ...texts].filter(isText).join('\n'))
}

function readResource({ resource }: JsonObject): Reading | null {
  const { uri, mimeType, text, blob } = objectOf(resource)
  if (!isText(uri)) return null
  return typeof text === 'string' ? words(isText(text) ? `${uri}\n${text}` : uri) : bytes(blob, mimeType, uri)
}

function readResourceLink({ uri, name, title, description, mimeType }: JsonObject): Reading | null {
  if (!isText(uri) || !isText(name)) return null
  return words([title ?? name, uri, mimeType, description].filter(isText).join('\n'))
}

function readShellOutput({ output }: JsonObject): Reading | null {
  if (!Array.isArray(output)) return null
  const texts = output.flatMap((each: JsonValue) => [objectOf(each)['stdout'], objectOf(each)['stderr']])
  return words(texts.filter(isText).join('\n'))
}

/** The texts of a text, or of a list of them; null where anything else is among them. */
function textsIn(content: JsonValue | undefined): JsonValue[] | null {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return null
  const texts = content.map((part: JsonValue) => objectOf(part)['text'] ?? null)
  return texts.length > 0 && texts.every(isText) ? texts : null
}

function openAIFile(
  data: JsonValue | undefined,
  url: JsonValue | undefined,
  id: JsonValue | undefined,
  name: JsonValue | undefined,
): Reading | null {
  if (isText(data)) return dataUrl(data, name) ?? bytes(data, null, name)
  return isText(url) ? address(url, null, name) : uploaded(id, 'openai', null, name)
}

function readAudio({ input_audio }: JsonObject): Reading | null {
  const { data, format } = objectOf(input_audio)
  const type = [...AUDIO].find(([, each]) => each === format)?.[0]
  return type === undefined ? null : bytes(data, type, null)
}

/** That of Chat Completions has a `file`, that of the AI SDK `data`. */
function readFile({ file, data, mediaType, filename }: JsonObject): Reading | null {
  if (isObject(file)) return openAIFile(file['file_data'], undefined, file['file_id'], file['filename'])
  if (isText(data))
    return (
      dataUrl(data, filename) ??
      (isWeb(data) ? address(data, mediaType, filename) : bytes(data, mediaType, filename))
    )
  const { type, data: inner, url, text, reference } = objectOf(data)
  if (type === 'data') return bytes(inner, mediaType, filename)
  if (type === 'url' && isText(url)) return address(url, mediaType, filename)
  if (type === 'text') return words([filename, text].filter(isText).join('\n'))
  return type === 'reference' ? referred(reference, mediaType, filename) : null
}

/** The ids that several providers may have given a file. */
function referred(
  reference: JsonValue | undefined,
  type: JsonValue | undefined,
  name: JsonValue | undefined,
): Reading | null {
  const { openai, anthropic } = objectOf(reference)
  return uploaded(openai, 'openai', type, name) ?? uploaded(anthropic, 'anthropic', type, name)
}

const isWeb = (text: string): boolean => /^https?:/i.test(text)

const DATA_URL = /^data:([^;,]{0,100})(?:;[^,;]{0,100}){0,100};base64,/i

/** A data URL whose text is written out, as `data:text/csv,a%2Cb`. */
const TEXT_URL = /^data:([^;,]{0,100})(?:;[^,;]{0,100}){0,100},/i

function dataUrl(url: string, name: JsonValue | undefined): Reading | null {
  const match = DATA_URL.exec(url)
  if (match !== null) return bytes(url.slice(match[0].length), match[1]?.toLowerCase() ?? null, name)
  const [start, type = ''] = TEXT_URL.exec(url) ?? []
  if (start === undefined || !isTextFile(type || 'text/plain', null)) return null
  try {
    return words([name, decodeURIComponent(url.slice(start.length))].filter(isText).join('\n'))
  } catch {
    return null
  }
}

function bytes(
  data: JsonValue | undefined,
  type: JsonValue | undefined,
  name: JsonValue | undefined,
): Reading | null {
  if (!isText(data) || !isBase64(data)) return null
  const url = `data:${isText(type) ? type : ''};base64,${data}`
  if (readImage(url) !== null) return { as: 'image', url }
  return file(data.startsWith('JVBERi0') ? PDF : type, { data }, name)
}

function address(
  url: JsonValue | undefined,
  type: JsonValue | undefined,
  name: JsonValue | undefined,
): Reading | null {
  if (!isText(url) || !isAddress(url, false)) return null
  if (isText(type) && /^image(?:\/|$)/.test(type)) return { as: 'image', url }
  return file(type, { url }, name)
}

function uploaded(
  id: JsonValue | undefined,
  provider: 'openai' | 'anthropic',
  type: JsonValue | undefined,
  name: JsonValue | undefined,
): Reading | null {
  return isText(id) ? file(type, { id, provider }, name) : null
}

const file = (type: JsonValue | undefined, from: FileRef['from'], name: JsonValue | undefined): Reading => ({
  as: 'file',
  file: { mediaType: textOrNull(type), from, name: textOrNull(name) },
})

/** A text that says something, and has bytes. */
const isText = (value: JsonValue | undefined): value is string =>
  typeof value === 'string' && !isWhitespace(value) && isWellFormed(value)

const textOrNull = (value: JsonValue | undefined): string | null => (isText(value) ? value : null)

/** What the log holds is JSON all through. */
const objectOf = found as (value: JsonValue | undefined) => JsonObject
