/** Moves long strings out of bodies and back, so that a store keeps equal strings only once. */

import { ColloquyError } from '../../event/errors.ts'
import { freezeJson } from '../../event/freeze.ts'
import { setOwn } from '../../event/json.ts'
import { digestOf, newHash, utf8Pieces } from '../../event/sha-256.ts'
import { blobText, LARGE_STRING } from '../../event/text.ts'
import type { Fact } from '../../event/quarantine.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type {
  BlobAudit,
  BlobContent,
  BlobMode,
  BlobRange,
  BlobReference,
  GetOptions,
} from '../contract/blobs.ts'
import type { StoredEvent } from '../contract/query.ts'
import type { Store } from '../contract/store.ts'
import { checkInteger, checkOneOf, checkOptionNames, invalidArgument } from '../../event/check-value.ts'

/** A long string and its reference. */
export interface LargeString extends BlobReference {
  readonly text: string
}

/** A body as JSON without its long strings, and these strings. */
export interface SplitBody {
  readonly body: string
  readonly strings: readonly LargeString[]
}

/** Digests of known strings, so that a string that many events share is hashed once. */
export type Digests = Map<string, Pick<BlobReference, 'hash' | 'bytes'>>

/**
 * Splits a body into JSON and its well-formed strings of more than {@link LARGE_STRING} characters. Returns
 * null if the body has no such strings. O(values), and O(characters) of the strings.
 * @param digests known digests; new digests are added
 * @example
 * splitBody({ kind: 'PauseEvent', id: 'p' }) // null
 * const llm_message = { role: 'user', content: [{ text: 'x'.repeat(65_537) }] }
 * const fact = { kind: 'MessageEvent', id: 'm', source: 'user', llm_message }
 * const [{ hash, path, bytes }] = blobsOf(fact)
 * [path.join('.'), bytes] // ['llm_message.content.0.text', 65537]
 * replaceStrings(fact, blobsOf(fact), () => blobText(hash)).llm_message.content[0].text.slice(0, 14) // 'colloquy:blob/'
 */
export function splitBody(fact: Fact, digests?: Digests): SplitBody | null {
  const strings = blobsOf(fact, digests)
  if (strings.length === 0) return null
  return { body: JSON.stringify(replaceStrings(fact as object as JsonValue, strings, () => '')), strings }
}

export const referencesText = (strings: readonly BlobReference[]): string =>
  JSON.stringify(strings.map(({ path, hash, bytes }) => [path, hash, bytes]))

/** Parses a result of `referencesText`. @throws a SyntaxError or a TypeError for a damaged text. */
export const readReferences = (text: string): BlobReference[] =>
  (JSON.parse(text) as [BlobReference['path'], string, number][]).map(([path, hash, bytes]) => ({
    path,
    hash,
    bytes,
  }))

/** Returns the long strings of a body, in field order. O(values), and O(characters) of the strings. */
export function blobsOf(fact: Fact, digests: Digests = new Map()): readonly LargeString[] {
  const strings: LargeString[] = []
  if (hasLargeString(fact)) collect(fact, [], digests, strings)
  return strings
}

/**
 * Returns a frozen copy of an event, with references in place of long strings. Returns an event without long
 * strings unchanged. O(values), and O(characters) of the strings.
 */
export function withReferences<E extends Pick<StoredEvent, 'fact' | 'blobs'>>(
  event: E,
  strings = blobsOf(event.fact),
): E {
  if (strings.length === 0) return event
  const fact = replaceStrings(event.fact as object as JsonValue, strings, ({ hash }) => blobText(hash))
  freezeJson(fact)
  return Object.freeze({ ...event, fact: fact as object as Fact, blobs: freezeBlobs(strings) })
}

export const freezeBlobs = (strings: readonly BlobReference[]): readonly BlobReference[] =>
  Object.freeze(
    strings.map(({ path, hash, bytes }) => Object.freeze({ path: Object.freeze(path), hash, bytes })),
  )

/**
 * Returns a copy of a value in which `textOf` has replaced the strings at the paths of `strings`. Objects and
 * lists outside the paths are not copied. O(fields of the copied objects).
 * @param strings the paths; strings of one object or list must be adjacent
 * @throws TypeError if a path leads through a value that is not an object or list
 */
export function replaceStrings<S extends Pick<BlobReference, 'path'>>(
  value: JsonValue,
  strings: readonly S[],
  textOf: (one: S) => string,
  depth = 0,
): JsonValue {
  const [first] = strings
  if (first === undefined) return value
  const key = first.path[depth]
  if (key === undefined) return textOf(first)
  if (typeof value !== 'object' || value === null)
    throw new TypeError('A body has no value at the path of a string.')
  const copy: object = Array.isArray(value) ? [...(value as readonly JsonValue[])] : { ...value }
  for (let start = 0; start < strings.length;) {
    const name = strings[start]?.path[depth]
    let end = start + 1
    while (strings[end]?.path[depth] === name && end < strings.length) end += 1
    const inner = (copy as Readonly<Record<string, JsonValue>>)[String(name)] ?? null
    setOwn(copy, String(name), replaceStrings(inner, strings.slice(start, end), textOf, depth + 1))
    start = end
  }
  return copy as JsonValue
}

export function hasLargeString(value: object): boolean {
  const list: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  for (const inner of list)
    if (typeof inner === 'string') {
      if (inner.length > LARGE_STRING) return true
    } else if (typeof inner === 'object' && inner !== null && hasLargeString(inner)) return true
  return false
}

function collect(
  value: unknown,
  path: readonly (string | number)[],
  digests: Digests,
  matches: LargeString[],
): void {
  if (typeof value === 'string') {
    if (value.length <= LARGE_STRING || !value.isWellFormed()) return
    const digest = digests.get(value) ?? digestOf(value)
    digests.set(value, digest)
    matches.push({ path, ...digest, text: value })
  } else if (Array.isArray(value))
    for (const [index, inner] of value.entries()) collect(inner, [...path, index], digests, matches)
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) collect(inner, [...path, key], digests, matches)
}

export async function digestOfPieces(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = newHash()
  for await (const bytes of pieces) hash.update(bytes)
  return hash.digest('hex')
}

/** Checks options of `get`; returns whether to return references. @throws `invalid_argument`. */
export function checkGetOptions(options: GetOptions = {}): boolean {
  checkOptionNames(options, 'blobs')
  return checkOneOf('blobs', options.blobs, BLOB_MODES, invalidArgument) === 'refs'
}

export const BLOB_MODES = ['whole', 'refs'] as const satisfies readonly BlobMode[]

/**
 * Checks a byte range and limits it to `length`. O(1). @throws `invalid_argument`.
 * @example
 * checkRange({ end: 9 }, 4) // { from: 0, to: 4 }
 */
export function checkRange(
  range: BlobRange = {},
  length: number = Number.MAX_SAFE_INTEGER,
): { readonly from: number; readonly to: number } {
  checkOptionNames(range, 'start end')
  const { start, end } = range
  const from = checkInteger('start', start, 0, Number.MAX_SAFE_INTEGER, 0, invalidArgument)
  const to = checkInteger('end', end, from, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, invalidArgument)
  return { from: Math.min(from, length), to: Math.min(to, length) }
}

export const isBlobHash = (hash: unknown): hash is string =>
  typeof hash === 'string' && /^[0-9a-f]{64}$/.test(hash)

/**
 * Finds a long string by its hash, to implement `readBlob`; null if no event contains the string. The events
 * must contain their long strings, not references. O(values, and characters of long strings). @throws
 * `invalid_argument`.
 */
export function findBlob(events: Iterable<StoredEvent>, hash: string, range?: BlobRange): BlobContent | null {
  checkRange(range)
  const digests: Digests = new Map()
  for (const { fact } of events)
    for (const one of blobsOf(fact, digests)) if (one.hash === hash) return textContent(one, range)
  return null
}

/**
 * Returns the bytes, or a range of the bytes, of a text that is in memory. O(end of the range).
 * @example
 * const [one] = blobsOf({ kind: 'ServerErrorEvent', source: 'agent', code: 'c', detail: 'x'.repeat(65_537) })
 * textContent(one).bytes // 65537
 */
export function textContent({ text, bytes }: LargeString, range?: BlobRange): BlobContent {
  const { from, to } = checkRange(range, bytes)
  return {
    bytes,
    content: {
      async *[Symbol.asyncIterator]() {
        for (const piece of utf8Pieces(text)) {
          if (piece.start >= to) return
          const part = piece.bytes.subarray(Math.max(0, from - piece.start), to - piece.start)
          if (part.length > 0) yield part
        }
      },
    },
  }
}

/**
 * Returns a function that reads a long string by its hash, for `resolveBlobs`. The function returns null if
 * no event of the conversation contains the string. O(bytes).
 * @example
 * const store = memoryStore()
 * await store.createConversation({ id: 'c' })
 * const llm_message = { role: 'user', content: [{ text: 'x'.repeat(65_537) }] }
 * await store.append('c', [{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }])
 * const [event] = await store.read('c', { blobs: 'refs' })
 * const text = await blobReader(store, 'c')(event.blobs[0].hash)
 * text.length // 65537
 */
export const blobReader =
  (store: Pick<Store, 'readBlob'>, conversationId: string) =>
  async (hash: string): Promise<string | null> => {
    const blob = await store.readBlob(conversationId, hash)
    if (blob === null) return null
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
    let text = ''
    for await (const bytes of blob.content) text += decoder.decode(bytes, { stream: true })
    return text
  }

/** The audit of a store without blobs. */
export const NO_BLOBS: BlobAudit = Object.freeze({
  blobs: 0,
  bytes: 0,
  events: 0,
  unused: [],
  damaged: [],
  missing: [],
})

export const damagedBlob = (hash: string): ColloquyError =>
  new ColloquyError(
    'store_unavailable',
    `The blob ${hash} is incomplete. Restore the database from a backup.`,
    { hash },
  )
