/** Serves long strings in events, or byte ranges of these strings, to callers that may read the conversation. */

import { DATA_URL, imageTypeOf } from '../../messages/files.ts'
import { decodeBase64 } from '../../messages/text-files.ts'
import { maskSecrets, mentionsSecret } from '../../event/mask.ts'
import type { BlobContent } from '../../store/contract/blobs.ts'
import type { Store } from '../../store/contract/store.ts'
import { textContent } from '../../store/kit/blobs.ts'
import { getConversationOr404 } from '../conversations/find-conversation.ts'
import { streamOf } from '../http/app.ts'
import { operationsIn, type Operation } from '../http/operation.ts'
import { boolean, withDefault } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'

const operation = operationsIn('Events')

/** Headers that prevent browsers from rendering or running the text. */
const HEADERS = {
  'content-type': 'application/octet-stream',
  'content-security-policy': "sandbox; default-src 'none'",
  'accept-ranges': 'bytes',
  // The content of a hash never changes. A deleted conversation must not stay in a cache for long.
  'cache-control': 'private, max-age=86400, immutable',
}

export const blobOperations = (store: Store): Operation[] => {
  const read = maskedBlobs(store)
  return [
    operation('get /api/conversations/{conversation_id}/blobs/{hash}', {
      name: 'get_conversation_blob',
      query: { decode: withDefault(boolean(), false) },
      returns: { type: 'string', format: 'binary' },
      description: 'The UTF-8 bytes of the string; with decode, the bytes that the string encodes',
      mediaType: 'application/octet-stream',
      otherwise: {
        206: 'The requested range of bytes',
        304: 'The client has the blob',
        404: 'Unknown conversation or blob',
        416: 'The range begins after the end of the blob',
        422: 'The blob to decode is not base64',
      },
      async handle({ path: { conversation_id, hash }, query: { decode }, request }) {
        const { id } = await getConversationOr404(store, conversation_id)
        const whole = await read(id, hash)
        if (whole === null) throw new HttpProblem(404, 'The blob was not found.')
        if (decode) return decodedResponse(whole, hash, request)
        const headers = headersOf(hash)
        if (hasTag(request.headers.get('if-none-match'), hash))
          return new Response(null, { status: 304, headers })
        const range = rangeOf(request.headers, hash, whole.bytes)
        if (range === 'beyond')
          return new Response(null, {
            status: 416,
            headers: { ...HEADERS, 'content-range': `bytes */${whole.bytes}` },
          })
        const part = range === null ? whole : await read(id, hash, range)
        if (part === null) throw new HttpProblem(404, 'The blob was not found.')
        const { start, end } = range ?? { start: 0, end: whole.bytes }
        return new Response(
          request.method === 'HEAD' ? null : streamOf(part.content[Symbol.asyncIterator]()),
          {
            status: range === null ? 200 : 206,
            headers: {
              ...headers,
              'content-length': String(end - start),
              ...(range !== null && { 'content-range': `bytes ${start}-${end - 1}/${whole.bytes}` }),
            },
          },
        )
      },
    }),
  ]
}

const MAX_KNOWN = 10_000

/** Characters of the previous piece that are searched again, to find an `encrypted_content` that spans both. */
const OVERLAP = 32

/**
 * Returns a `readBlob` that masks encrypted content. It searches a blob without encrypted content only once,
 * and any other blob at each read.
 */
function maskedBlobs(store: Pick<Store, 'readBlob'>): Store['readBlob'] {
  const clean = new Set<string>()
  return async (id, hash, range) => {
    if (!clean.has(hash)) {
      const blob = await store.readBlob(id, hash)
      if (blob === null) return null
      if (await mayHoldSecret(blob.content)) {
        const whole = await store.readBlob(id, hash)
        if (whole === null) return null
        const masked = maskSecrets(await textOf(whole.content))
        const bytes = new TextEncoder().encode(masked).length
        return textContent({ path: [], hash, bytes, text: masked }, range)
      }
      if (clean.size === MAX_KNOWN) clean.clear()
      clean.add(hash)
    }
    return store.readBlob(id, hash, range)
  }
}

async function mayHoldSecret(content: AsyncIterable<Uint8Array>): Promise<boolean> {
  let end = ''
  for await (const part of decodeText(content)) {
    const text = end + part
    // Letters of `encrypted_content` may be escaped, at any level of quoting.
    if (mentionsSecret(text) || text.includes(String.raw`\u00`)) return true
    end = text.slice(-OVERLAP)
  }
  return false
}

async function* decodeText(content: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  for await (const bytes of content) yield decoder.decode(bytes, { stream: true })
}

async function textOf(content: AsyncIterable<Uint8Array>): Promise<string> {
  let text = ''
  for await (const part of decodeText(content)) text += part
  return text
}

/** Maximum characters before the data of a data URL. */
const MAX_START = 1_000

/** Responds with the bytes of a data URL or of plain base64. Decodes the text piece by piece. */
async function decodedResponse(
  { content }: BlobContent,
  hash: string,
  { method, headers: requested }: Request,
): Promise<Response> {
  const parts = decodeText(content)
  let start = ''
  while (start.length < MAX_START) {
    const { done, value } = await parts.next()
    if (done === true) break
    start += value
  }
  const [prefix, , base64] = DATA_URL.exec(start.slice(0, MAX_START)) ?? []
  const first = base64 === undefined ? start : start.slice(prefix?.length)
  if (!BASE64.test(first)) throw new HttpProblem(422, 'The blob is not base64. Omit the parameter `decode`.')
  const tag = `${hash}-decoded`
  const headers = {
    ...headersOf(hash, tag),
    'accept-ranges': 'none',
    // Browsers cannot execute the image formats that `imageTypeOf` detects. Other content is sent as bytes.
    'content-type': imageTypeOf(first) ?? HEADERS['content-type'],
  }
  if (hasTag(requested.get('if-none-match'), tag)) return new Response(null, { status: 304, headers })
  return new Response(method === 'HEAD' ? null : streamOf(decodeBase64Parts(first, parts)), { headers })
}

const headersOf = (hash: string, tag = hash) => ({
  ...HEADERS,
  etag: `"${tag}"`,
  'content-disposition': `attachment; filename="${hash}"`,
})

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

async function* decodeBase64Parts(first: string, parts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  let rest = ''
  const next = (part: string): Uint8Array => {
    const text = rest + part
    if (!BASE64.test(text)) throw new Error('The blob is not base64.')
    rest = text.slice(text.length - (text.length % 4))
    return decodeBase64(text.slice(0, text.length - rest.length))
  }
  yield next(first)
  for await (const part of parts) yield next(part)
  yield decodeBase64(rest)
}

const hasTag = (header: string | null, hash: string): boolean =>
  header !== null && header.split(',').some((tag) => ['*', `"${hash}"`, `W/"${hash}"`].includes(tag.trim()))

/** Returns the requested range; `beyond` if it begins after the end; null if the header is not one valid range. */
function rangeOf(
  headers: Headers,
  hash: string,
  bytes: number,
): { readonly start: number; readonly end: number } | 'beyond' | null {
  const condition = headers.get('if-range')
  if (condition !== null && condition.trim() !== `"${hash}"`) return null
  const [match, first = '', last = ''] =
    /^\s*bytes\s*=\s*(\d*)\s*-\s*(\d*)\s*$/.exec(headers.get('range') ?? '') ?? []
  if (match === undefined || (first === '' && last === '')) return null
  if (first === '') {
    const length = Math.min(Number(last), bytes)
    return length === 0 ? 'beyond' : { start: bytes - length, end: bytes }
  }
  if (last !== '' && Number(last) < Number(first)) return null
  if (Number(first) >= bytes) return 'beyond'
  return { start: Number(first), end: last === '' ? bytes : Math.min(Number(last) + 1, bytes) }
}
