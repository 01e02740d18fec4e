/** API keys. Only their hashes are stored, so that a stolen database contains no key. */

import { newHash } from '../../event/sha-256.ts'
import type { Store } from '../../store/contract/store.ts'
import { recordsOf, risingClock } from '../records.ts'

/** Information about a key, without the key itself. Times are ISO 8601 in UTC. */
export interface ApiKeyInfo {
  readonly id: string
  readonly name: string
  readonly created_at: string
  readonly last_used_at: string | null
  /** The key is invalid before this time; null for no limit. */
  readonly not_before: string | null
  /** The key is invalid from this time on; null if it never expires. */
  readonly expires_at: string | null
  /** Organization to which the key is bound; null for a key without an organization. */
  readonly org_id: string | null
}

/** The fields of a new key. */
export type NewApiKey = Pick<ApiKeyInfo, 'name' | 'not_before' | 'expires_at' | 'org_id'>

interface StoredKey extends ApiKeyInfo {
  readonly hash: string
}

/** Creates, lists, removes and finds API keys in a store. */
export interface ApiKeys {
  /** Creates a key. No other method returns `key`, because the store contains only its hash. */
  readonly create: (key: NewApiKey) => Promise<ApiKeyInfo & { readonly key: string }>
  readonly list: () => Promise<readonly ApiKeyInfo[]>
  readonly remove: (id: string) => Promise<boolean>
  /** Returns the key's information and records its use; null for a key that is unknown, expired, or not valid yet. */
  readonly find: (credential: string) => Promise<ApiKeyInfo | null>
}

/** Prefix of every key. Secret scanners recognise leaked keys by this prefix. */
const PREFIX = 'sk-colloquy-'
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** Number of characters of a key after its prefix. 43 characters from an alphabet of 62 have 256 bits. */
const LENGTH = 43

/** Minimum milliseconds between two writes of a key's last use. */
const USED_EVERY = 300_000

/**
 * Returns the functions that manage the API keys in a store. All processes that use the store share the keys,
 * so a deleted key is invalid everywhere. `list` is O(keys); any other method is O(log keys).
 * @example
 * const keys = apiKeys(memoryStore())
 * const { key } = await keys.create({ name: 'ci', not_before: null, expires_at: null, org_id: null })
 * const found = await keys.find(key)
 * found.name // 'ci'
 */
export function apiKeys(store: Store, now: () => number = Date.now): ApiKeys {
  const records = recordsOf<StoredKey>(store, 'api-keys', ({ hash, created_at }) => ({
    keys: { hash, created_at },
  }))
  const nextTime = risingClock(now)
  return {
    async create({ name, not_before, expires_at, org_id }) {
      const key = newKey()
      const id = crypto.randomUUID()
      const created_at = new Date(nextTime()).toISOString()
      const hash = await sha256(key)
      const stored = { id, name, created_at, last_used_at: null, not_before, expires_at, org_id, hash }
      await store.changeItems([records.changeOf(id, stored, null)])
      return { ...shown(stored), key }
    },
    async list() {
      const keys: ApiKeyInfo[] = []
      const newest = { by: 'created_at', descending: true }
      for await (const { record } of records.walk(newest)) keys.push(shown(record))
      return keys
    },
    remove: (id) => records.remove(id),
    async find(credential) {
      // A credential without the prefix is not an API key.
      if (!credential.startsWith(PREFIX)) return null
      // The duration of the query reveals nothing, because callers cannot choose the hash.
      const { items } = await records.list({ by: 'hash', value: await sha256(credential), limit: 1 })
      const [stored] = items
      const time = now()
      if (stored === undefined || !isWithin(stored.record, time)) return null
      const { id, version, record } = stored
      const used = { ...record, last_used_at: new Date(time).toISOString() }
      if (time - Date.parse(record.last_used_at ?? '1970-01-01') >= USED_EVERY) {
        // The key is valid even if this write fails. The write cannot restore a key that was deleted meanwhile.
        await store.changeItems([records.changeOf(id, used, version)]).catch(() => undefined)
      }
      return shown(used)
    },
  }
}

export const isWithin = (
  { not_before, expires_at }: Pick<ApiKeyInfo, 'not_before' | 'expires_at'>,
  now: number,
): boolean =>
  (not_before === null || Date.parse(not_before) <= now) &&
  (expires_at === null || now < Date.parse(expires_at))

export function newKey(prefix = PREFIX): string {
  let key = prefix
  while (key.length < prefix.length + LENGTH) {
    // Bytes of 248 or more would make some letters likelier.
    for (const byte of crypto.getRandomValues(new Uint8Array(64))) {
      if (byte < 248 && key.length < prefix.length + LENGTH) key += LETTERS[byte % 62]
    }
  }
  return key
}

function shown({ hash: _hash, ...info }: StoredKey): ApiKeyInfo {
  return info
}

const encoder = new TextEncoder()

export async function sha256(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const hash = newHash()
  hash.update(typeof data === 'string' ? encoder.encode(data) : data)
  return hash.digest('hex')
}

/** Whether two hashes are equal, in a time that depends only on their length. */
export function isSameHash(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let index = 0; index < a.length; index += 1) difference |= a.charCodeAt(index) ^ b.charCodeAt(index)
  return difference === 0
}
