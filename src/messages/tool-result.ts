/** Converts the output of any library's tool to an observation. Never throws. */

import { canonicalJson } from '../event/encode.ts'
import { errorMessages, isError } from '../event/errors.ts'
import { isPlain } from '../event/freeze.ts'
import { attempt, isObject, mapDeep, ownField, setOwn } from '../event/json.ts'
import type { Content, JsonObject, Observation, OpenPart } from '../event/shapes.ts'
import {
  DATA_URL,
  imageTypeOf,
  isBase64,
  isPartType,
  readImage,
  readPart,
  textOfFile,
  urlOf,
} from './files.ts'
import type { PartTable } from './limits.ts'
import { base64Of, decodeUtf8, withoutPadding } from './text-files.ts'
import { objectOf, type RawObject } from './text.ts'

export const TOOL_OBSERVATION = 'ToolObservation'

type Kinds = PartTable['kinds']

export function readToolResult(output: unknown, blocks: Kinds): Observation {
  if (output === undefined) return textObservation('')
  if (typeof output === 'string') return observation(asPart(filePart(output) ?? output))
  return readSafely(() => {
    if (isError(output)) return failure(errorText(output))
    const value = snapshot(output)
    return observationIn(value, blocks) ?? mcpResult(value, blocks) ?? asContent(value, blocks)
  })
}

/** Converts an output to JSON text. Used if an event cannot contain the output's fields. Never throws. */
export const readAsText = (output: unknown): Observation =>
  readSafely(() => observation(jsonContent(snapshot(output), {})))

/** Reads the result of the AI SDK's `toModelOutput`, in the forms of versions 5, 6 and 7. Never throws. */
export function readModelOutput(output: unknown, blocks: Kinds): Observation {
  return readSafely(() => {
    const value = snapshot(output)
    const { type, value: inner, reason } = objectOf(value)
    switch (type) {
      case 'content':
        return Array.isArray(inner) ? observation(partsOrJson(inner, blocks)) : asContent(value, blocks)
      case 'text':
      case 'json':
        return observation(jsonContent(inner, blocks))
      case 'error-text':
      case 'error-json':
        return { ...observation(jsonContent(inner, blocks)), is_error: true }
      case 'execution-denied':
        return failure(typeof reason === 'string' ? reason : 'The execution was denied.')
      default:
        return readToolResult(output, blocks)
    }
  })
}

const readSafely = (read: () => Observation): Observation =>
  attempt(read, failure('The tool was executed, but its output is too large to store.'))

export const failure = (text: string): Observation => ({ ...textObservation(text), is_error: true })

export const textObservation = (text: string): Observation => observation(asTextContent(text))

const observation = (content: readonly Content[]): Observation => ({ kind: TOOL_OBSERVATION, content })

const asTextContent = (text: string): Content[] =>
  text === '' ? [] : [{ type: 'text', text: text.toWellFormed() }]

/** Minimum length of a text that is read as a file. Shorter base64 could be an ordinary word. */
const MIN_FILE_LENGTH = 64

/** Reads an image or a PDF in base64, or any file in a data URL. Returns null for any other string. O(length). */
function filePart(text: string): Content | null {
  if (text.length < MIN_FILE_LENGTH) return null
  const [start = '', type, isEncoded] = DATA_URL.exec(text) ?? []
  const isFile =
    (imageTypeOf(text) !== undefined || text.startsWith('JVBERi0')) && isBase64(text.replaceAll(/\r?\n/g, ''))
  const data = text.slice(start.length).trim()
  const isData = isEncoded !== undefined && !/[^\S\r\n]/.test(data)
  return isFile || isData ? bytesPart(data, type, null) : null
}

const asPart = (read: Content | string): Content[] =>
  typeof read === 'string' ? asTextContent(read) : [read]

/** Returns the text of an error, and of its causes. Never throws. */
export const errorText = (error: unknown): string =>
  errorMessages(error, (value) => jsonText(snapshot(value)))

const tagOf = (value: unknown): string =>
  attempt(() => Object.prototype.toString.call(value).slice('[object '.length, -1), 'Object')

/** Reads a value as an observation. Returns null for other values, even if they have a field `kind`. */
function observationIn(value: unknown, blocks: Kinds): Observation | null {
  const { kind, content, ...rest } = objectOf(value)
  if (typeof kind !== 'string' || !Array.isArray(content)) return null
  const parts = content.map((part) => resultPart(part, blocks))
  return parts.every((part) => part !== null)
    ? ({ kind, content: parts, ...objectOf(plainValue(rest)) } as Observation)
    : null
}

function mcpResult(value: unknown, blocks: Kinds): Observation | null {
  if (!isObject(value)) return null
  const {
    content: given,
    structuredContent,
    is_error,
    isError: failed = is_error,
    _meta,
    resultType: _,
    ...rest
  } = objectOf(value)
  if (typeof (failed ?? false) !== 'boolean') return null
  const list = given ?? []
  const isMarked = failed !== undefined || isObject(structuredContent)
  // Some tools return a text where the protocol requires a list.
  const content = isMarked && typeof list === 'string' ? asTextContent(list) : list
  if (!Array.isArray(content)) return null
  const isContent = list === given && content.every((part) => resultPart(part, blocks) !== null)
  const isResult = Object.keys(rest).length === 0 ? isMarked || isContent : isMarked && 'content' in value
  if (!isResult && failed !== true) return null
  const parts = [
    ...partsOrJson(content, blocks),
    ...((structuredContent ?? null) === null || isRepeated(structuredContent, content)
      ? []
      : jsonContent(structuredContent, blocks)),
    ...(Object.keys(rest).length === 0 ? [] : jsonContent(rest, blocks)),
  ]
  return {
    ...observation(parts),
    ...(failed === true && { is_error: true }),
    ...(isObject(_meta) && { _meta: plainValue(_meta) as JsonObject }),
  }
}

/** Whether parts repeat the structured content or its `result`, as a whole or item by item (as FastMCP does). */
function isRepeated(structured: unknown, content: readonly unknown[]): boolean {
  const texts = new Set(
    content.flatMap((part) => [part, ...valuesOf(objectOf(part)['text'])].map(sortedJson)),
  )
  const { result, ...rest } = objectOf(structured)
  const isWrapped = result !== undefined && Object.keys(rest).length === 0
  return [structured, ...(isWrapped ? [result] : [])].some(
    (value) =>
      texts.has(sortedJson(value)) ||
      (Array.isArray(value) && value.length > 0 && value.every((item) => texts.has(sortedJson(item)))),
  )
}

const valuesOf = (text: unknown): unknown[] =>
  typeof text === 'string' ? attempt((): unknown[] => [text, JSON.parse(text)], [text]) : []

/** Returns JSON for comparing parts with structured content. Omits null fields, which FastMCP's parts lack. */
const sortedJson = (value: unknown): string =>
  canonicalJson(mapDeep(value, (each) => (each instanceof Bytes ? each.base64 : (each ?? undefined))))

function asContent(value: unknown, blocks: Kinds): Observation {
  if (value instanceof Bytes) return observation(asPart(value.read()))
  const list = Array.isArray(value) ? value : 'type' in objectOf(value) ? [value] : []
  const parts = list.map((part) => resultPart(part, blocks))
  const isContent = parts.length > 0 && parts.every((part) => part !== null)
  return observation(isContent ? parts : jsonContent(value, blocks))
}

const partsOrJson = (parts: readonly unknown[], blocks: Kinds): Content[] =>
  parts.flatMap((part) => {
    const read = resultPart(part, blocks)
    return read === null ? jsonContent(part, blocks) : [read]
  })

const TEXT_FIELDS: ReadonlySet<string> = new Set([
  'type',
  'text',
  'cache_prompt',
  'cache_control',
  'citations',
  'annotations',
  '_meta',
  'providerOptions',
  'providerMetadata',
])

function resultPart(part: unknown, blocks: Kinds): Content | null {
  if (!isObject(part)) return null
  const { type, text, cache_prompt, cache_control, image_urls, inlineData, image, document } = objectOf(part)
  const keys = Object.keys(part)
  if (type === undefined) {
    if (typeof text === 'string' && keys.every((key) => key === 'text' || key === 'cache_prompt'))
      return part as unknown as Content
    if (Array.isArray(image_urls)) return plainValue(part) as Content
    if (keys.length !== 1) return null
    const { data, mimeType, displayName } = objectOf(inlineData)
    if (inlineData !== undefined) return bytesPart(data, mimeType, displayName)
    return bedrockPart(objectOf(image ?? document), image === undefined ? 'application' : 'image')
  }
  if (typeof type !== 'string') return null
  if (type === 'text') {
    if (typeof text !== 'string' || !keys.every((key) => TEXT_FIELDS.has(key))) return null
    const isMarked = cache_prompt === true || isObject(cache_control)
    return { type, text, ...(isMarked && { cache_prompt: true }) }
  }
  if (type === 'image')
    return Array.isArray(image_urls) ? (plainValue(part) as Content) : imagePart(objectOf(part))
  const block = ownField(blocks, type)
  // Avoids a copy: an object with a `type` is usually not a part.
  if (block === undefined && !isPartType(type)) return null
  const open = plainValue(part) as OpenPart
  return readPart(open) !== null || block?.fits(open) === true ? open : null
}

/** All fields of a LangChain image part that has a URL. */
const URL_FIELDS: ReadonlySet<string> = new Set([
  'type',
  'url',
  'id',
  'index',
  'mimeType',
  'mime_type',
  'source_type',
  'metadata',
  'extras',
])

function imagePart(part: RawObject): Content | null {
  const { data, mimeType, mediaType, image, source, url } = part
  const { data: inner, media_type, url: innerUrl } = objectOf(source)
  const bytes = inner ?? data ?? image
  // An object with other fields, such as a title, is the tool's own data, not an image.
  const isPlain = Object.keys(part).every((key) => URL_FIELDS.has(key))
  const content = bytes ?? innerUrl ?? (isPlain ? url : null)
  if (typeof content === 'string' && readImage(content) !== null)
    return { type: 'image', image_urls: [content] }
  return bytesPart(bytes, media_type ?? mimeType ?? mediaType ?? 'image', null)
}

function bedrockPart({ format, name, source }: RawObject, kind: 'application' | 'image'): Content | null {
  const { bytes, s3Location } = objectOf(source)
  if (typeof format !== 'string') return null
  const mediaType = `${['txt', 'md', 'csv', 'html'].includes(format) ? 'text' : kind}/${format}`
  const { uri } = objectOf(s3Location)
  if (typeof uri === 'string' && kind === 'application')
    return { type: 'file', mediaType, data: { type: 'url', url: uri }, ...nameOf(name) }
  return bytesPart(bytes, mediaType, name)
}

function bytesPart(content: unknown, type: unknown, name: unknown): Content | null {
  const data = content instanceof Bytes ? content.base64 : base64In(content)
  if (data === null) return null
  const mediaType = typeof type === 'string' && type.includes('/') ? type : 'application/octet-stream'
  const image = readImage(`data:${mediaType};base64,${data}`)
  if (image !== null) return { type: 'image', image_urls: [urlOf(image)] }
  return {
    type: 'file',
    mediaType: data.startsWith('JVBERi0') ? 'application/pdf' : mediaType,
    data: { type: 'data', data },
    ...nameOf(name),
  }
}

const nameOf = (name: unknown) => typeof name === 'string' && name !== '' && { filename: name }

function base64In(text: unknown): string | null {
  if (typeof text !== 'string') return null
  const data = withoutPadding(text.replace(/\s+/g, '').replaceAll('-', '+').replaceAll('_', '/'))
  if (data === '' || data.length % 4 === 1 || !/^[a-z0-9+/]+$/i.test(data)) return null
  return data.padEnd(Math.ceil(data.length / 4) * 4, '=')
}

/** Returns a value as JSON text, then its images and files. In the text, a number replaces each image or file. */
function jsonContent(value: unknown, blocks: Kinds): Content[] {
  if (typeof value === 'string') return asPart(filePart(value) ?? value)
  const parts: Content[] = []
  const text = jsonText(value, (each) => {
    const read = binaryIn(each, blocks)
    if (read === null) return each
    if (typeof read === 'string') return read
    parts.push(read)
    return `[Part ${parts.length}, which follows]`
  })
  return [...asTextContent(text), ...parts]
}

/** Returns the part or the text that a value encodes; null for any other value. */
function binaryIn(value: unknown, blocks: Kinds): Content | string | null {
  if (typeof value === 'string') return filePart(value)
  if (value instanceof Bytes) return value.read()
  const part = resultPart(value, blocks)
  if (part === null || 'text' in part) return null
  if ('image_urls' in part) {
    const [url] = part.image_urls as readonly unknown[]
    return typeof url === 'string' && url.startsWith('data:') ? part : null
  }
  const reading = readPart(part as OpenPart)
  if (reading?.as === 'image') return reading.url.startsWith('data:') ? part : null
  if (reading?.as !== 'file' || !('data' in reading.file.from)) return null
  return textOfFile(reading.file) ?? part
}

const jsonText = (value: unknown, replace: (value: unknown) => unknown = (each) => each): string =>
  JSON.stringify(value, (_, each: unknown) => replace(each)) ?? ''

const plainValue = (value: unknown): unknown =>
  JSON.parse(jsonText(value, (each) => (each instanceof Bytes ? each.base64 : each)))

class Bytes {
  readonly bytes: Uint8Array
  #base64: string | null = null

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  get base64(): string {
    return (this.#base64 ??= base64Of(this.bytes))
  }

  read(): Content | string {
    const text = decodeUtf8(this.bytes)
    // oxlint-disable-next-line no-control-regex
    const isText = text !== null && !/[\0-\x08\x0e-\x1f]/.test(text) && !text.startsWith('%PDF-')
    return isText ? text : (bytesPart(this, null, `${this.bytes.length} bytes`) ?? '')
  }
}

const MAX_DEPTH = 500
const MAX_VALUES = 1_000_000

/** Copies a value to plain JSON and `Bytes`. Cycles, functions and unreadable values become texts. */
function snapshot(root: unknown): unknown {
  let count = 0
  const ancestors: unknown[] = []
  return read(root, true)

  function read(value: unknown, mayConvert: boolean): unknown {
    count += 1
    if (count > MAX_VALUES) return `[Left out: more than ${MAX_VALUES} values]`
    switch (typeof value) {
      case 'bigint':
        return String(value)
      case 'number':
        return Number.isFinite(value) ? value : String(value)
      case 'function':
        return `[Function${typeof value.name === 'string' && value.name !== '' ? ` ${value.name}` : ''}]`
      case 'symbol':
        return String(value)
      case 'object':
        break
      default:
        return value
    }
    if (value === null) return null
    if (ancestors.includes(value)) return '[Circular]'
    if (ancestors.length === MAX_DEPTH) return `[Left out: nested more than ${MAX_DEPTH} deep]`
    ancestors.push(value)
    try {
      return readObject(value, mayConvert)
    } catch (error) {
      return `[Unreadable: ${errorText(error)}]`
    } finally {
      ancestors.pop()
    }
  }

  function readObject(value: object, mayConvert: boolean): unknown {
    const bytes = bytesIn(value)
    if (bytes !== null) return new Bytes(bytes)
    if (Array.isArray(value) || ArrayBuffer.isView(value)) return readList(value as readonly unknown[])
    if (isError(value)) return readError(value as Error)
    const known = builtIn(value)
    if (known !== value) return Array.isArray(known) ? readList(known) : read(known, false)
    if (mayConvert) {
      const json = convert(value)
      if (json !== value) return read(json, false)
    }
    return readFields(value)
  }

  function readList(list: readonly unknown[]): unknown[] {
    const out: unknown[] = []
    for (let index = 0; index < list.length; index += 1) {
      if (count > MAX_VALUES) break
      out.push(field(list, String(index)) ?? null)
    }
    return out
  }

  function readError(error: Error): unknown {
    const { name, message, cause, ...rest } = error as Error & RawObject
    return read({ name, message, ...rest, ...(cause === undefined ? {} : { cause }) }, false)
  }

  function readFields(value: object): unknown {
    const keys = Object.keys(value)
    if (keys.length === 0 && !isPlain(value)) return `[${className(value)}]`
    const out: Record<string, unknown> = {}
    for (const key of keys) {
      if (count > MAX_VALUES) break
      const each = field(value, key)
      if (each !== undefined) setOwn(out, key, each)
    }
    return out
  }

  function field(value: object, key: string): unknown {
    let each: unknown
    try {
      each = (value as RawObject)[key]
    } catch (error) {
      return `[Unreadable: ${errorText(error)}]`
    }
    return read(each, true)
  }
}

const convert = (value: object): unknown =>
  attempt((): unknown => {
    const { toJSON } = value as { readonly toJSON?: unknown }
    return typeof toJSON === 'function' ? toJSON.call(value, '') : value
  }, value)

function className(value: object): string {
  const tag = tagOf(value)
  if (tag !== 'Object') return tag
  const { constructor } = value
  const name: unknown = typeof constructor === 'function' ? constructor.name : ''
  return typeof name === 'string' && name !== '' ? name : 'Object'
}

type Built = Readonly<
  Record<string, { readonly prototype: { [Symbol.iterator](): IterableIterator<unknown> } } | undefined>
>

/** Returns a function that reads entries with the class's iterator, because an object's own iterator may never end. */
const entriesOf =
  (name: string) =>
  (value: object): unknown => [
    ...((globalThis as unknown as Built)[name]?.prototype[Symbol.iterator].call(value) ?? []),
  ]

const BUILT_IN: ReadonlyMap<string, (value: object) => unknown> = new Map([
  ...['Map', 'Set', 'Headers', 'URLSearchParams', 'FormData'].map((name) => [name, entriesOf(name)] as const),
  ...[Number, String, Boolean, BigInt, Symbol].map(({ name, prototype }) => {
    const { valueOf }: { valueOf(): unknown } = prototype
    return [name, (value: object): unknown => valueOf.call(value)] as const
  }),
  ['RegExp', (value: object) => RegExp.prototype.toString.call(value)],
  ['Date', dateText],
  ['Blob', blobText],
  ['File', blobText],
])

/** Converts a built-in object to entries, text or a primitive. An object with only such a class's tag is unchanged. */
const builtIn = (value: object): unknown => attempt(() => BUILT_IN.get(tagOf(value))?.(value) ?? value, value)

function dateText(value: object): string {
  return Number.isNaN(Date.prototype.getTime.call(value))
    ? 'Invalid Date'
    : Date.prototype.toISOString.call(value)
}

function blobText(value: object): string {
  const { name = 'Blob', type, size } = value as RawObject
  return `[${String(name)}: ${String(type || 'unknown type')}, ${String(size)} bytes, not read]`
}

function bytesIn(value: object): Uint8Array | null {
  // An object of another realm fails `instanceof`, but has the same tag.
  const tag = tagOf(value)
  if (ArrayBuffer.isView(value) && /^(?:Uint8(?:Clamped)?Array|DataView)$/.test(tag))
    return new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  if (tag === 'Object') return attempt(() => bufferInJson(value as RawObject), null)
  if (tag !== 'ArrayBuffer' && tag !== 'SharedArrayBuffer') return null
  return attempt(() => new Uint8Array(value as ArrayBuffer), null)
}

/** Reads a `Buffer` that was written as JSON. */
function bufferInJson({ type, data }: RawObject): Uint8Array | null {
  const isList = type === 'Buffer' && Array.isArray(data) && data.length <= MAX_VALUES
  return isList && data.every(Number.isInteger) ? Uint8Array.from(data) : null
}
