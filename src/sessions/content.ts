import { isObject } from '../event/json.ts'
import type { Content, OpenPart } from '../event/shapes.ts'
import { isInstant } from '../event/time.ts'
import { type RawObject, objectOf, stringOf } from '../messages/text.ts'
import type { TimelineReply } from '../messages/timeline.ts'

/**
 * Reads texts and images in the formats of Anthropic, OpenAI and Gemini. Parts of other types are kept
 * unchanged. A value that is neither a part nor a text becomes JSON.
 */
export function contentOf(value: unknown): Content[] {
  if (typeof value === 'string') return value === '' ? [] : [textPart(value)]
  if (Array.isArray(value))
    return value.flatMap((part: unknown) => (isObject(part) ? contentPart(part) : valuePart(part)) ?? [])
  if (value === null || value === undefined) return []
  return [valuePart(value)]
}

/** Returns content as blocks. Keeps objects. A text, or the JSON of another value, becomes a block of `type`. */
export function listOfBlocks(content: unknown, type: string): readonly RawObject[] {
  const list: readonly unknown[] = Array.isArray(content) ? content : [content ?? '']
  // Most lists contain only objects, and are returned unchanged.
  if (list.every(isObject)) return list
  return list.flatMap((block) => {
    if (isObject(block)) return [block]
    const text = typeof block === 'string' ? block : JSON.stringify(block)
    return text === '' ? [] : [{ type, text }]
  })
}

export function textIn(value: unknown): string {
  if (typeof value === 'string') return value
  const parts: readonly unknown[] = Array.isArray(value) ? value : []
  return parts.map((part) => stringOf(isObject(part) ? part['text'] : part)).join('')
}

const valuePart = (value: unknown): Content =>
  textPart(typeof value === 'string' ? value : JSON.stringify(value))

const textPart = (value: string): Content => ({ type: 'text', text: value })

const TEXTS: ReadonlySet<unknown> = new Set(['text', 'input_text', 'output_text'])

function contentPart(part: RawObject): Content | null {
  const { type } = part
  if (typeof part['text'] === 'string' && (type === undefined || TEXTS.has(type)))
    return part['text'] === '' ? null : textPart(part['text'])
  const image = imageOf(part)
  if (image !== null) return { type: 'image', image_urls: [image] }
  const file = googleFile(part)
  if (file !== null) return file
  // An invalid text or image would not decode, so it becomes its JSON.
  const isOpen = typeof type === 'string' && type !== '' && type !== 'text' && type !== 'image'
  return isOpen ? (part as OpenPart) : textPart(JSON.stringify(part))
}

function googleFile({ inlineData, fileData }: RawObject): OpenPart | null {
  const { data, fileUri = data, mimeType, displayName } = objectOf(inlineData ?? fileData)
  if (typeof fileUri !== 'string') return null
  const [mediaType, filename] = [stringOf(mimeType), stringOf(displayName)]
  return { type: 'file', data: fileUri, ...(mediaType && { mediaType }), ...(filename && { filename }) }
}

function imageOf(part: RawObject): string | null {
  const { type } = part
  if (type === 'image') {
    const source = objectOf(part['source'])
    if (source['type'] === 'url') return stringOf(source['url']) || null
    // ATIF writes a URL, or the path of a file that is not part of the trajectory.
    if (isUrl(source['path'])) return source['path']
    const media = stringOf(source['media_type']) || stringOf(part['mimeType'])
    return dataUrl(media, source['data'] ?? part['data'] ?? part['image'])
  }
  if (type === 'image_url')
    return stringOf(objectOf(part['image_url'])['url']) || stringOf(part['image_url']) || null
  if (type === 'input_image') return stringOf(part['image_url']) || null
  const inline = objectOf(part['inlineData'])
  return stringOf(inline['mimeType']).startsWith('image/')
    ? dataUrl(inline['mimeType'], inline['data'])
    : null
}

const isUrl = (value: unknown): value is string =>
  typeof value === 'string' && /^(?:https?|data):/.test(value)

function dataUrl(media: unknown, data: unknown): string | null {
  if (typeof data !== 'string' || data === '') return null
  if (isUrl(data)) return data
  return typeof media === 'string' && media !== '' ? `data:${media};base64,${data}` : null
}

export const instantIn = (value: unknown): string | null =>
  typeof value === 'string' && isInstant(value) ? value : null

export const isTextBlock = ({ type, text }: RawObject): boolean => type === 'text' && typeof text === 'string'

/**
 * Whether two items belong to the same reply. The id is not enough, because some servers use one id for all
 * replies. So two more facts are checked: only the first item of a reply has a model and tokens, and all
 * items of a reply follow the same request.
 */
export const isSameReply = (reply: TimelineReply | null, before: TimelineReply | null): boolean =>
  reply !== null &&
  reply.id !== null &&
  reply.id === before?.id &&
  reply.after === before.after &&
  reply.model === null &&
  reply.tokens === null
