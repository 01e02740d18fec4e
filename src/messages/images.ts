/** Reads image references, and refuses what providers do not take. */

import { wellFormed } from './text.ts'

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
  const mediaType = sniff(data) ?? TYPES.get(declared.trim())
  return mediaType === undefined ? null : { from: 'data', mediaType, data }
}

const TYPES: ReadonlyMap<string, ImageType> = new Map([
  ['image/jpeg', 'image/jpeg'],
  ['image/jpg', 'image/jpeg'],
  ['image/png', 'image/png'],
  ['image/gif', 'image/gif'],
  ['image/webp', 'image/webp'],
])

/** The format that the first bytes tell; a provider refuses an image whose declared type is not this one. */
function sniff(base64: string): ImageType | undefined {
  if (base64.startsWith('/9j/')) return 'image/jpeg'
  if (base64.startsWith('iVBORw0KGgo')) return 'image/png'
  if (base64.startsWith('R0lGOD')) return 'image/gif'
  // "RIFF", four bytes of length, and the letters "EBP" in the four digits from the twelfth on.
  return base64.startsWith('UklGR') && base64.startsWith('RUJQ', 12) ? 'image/webp' : undefined
}
