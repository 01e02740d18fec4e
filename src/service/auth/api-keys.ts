/**
 * API keys with a window of time and an organization; only their hashes are kept, so a stolen database opens nothing.
 */

import type { Store } from '../../store/contract/store.ts'
import { recordsOf, risingClock } from '../records.ts'

/** What is known of a key; times are ISO 8601 in UTC. */
export interface ApiKeyInfo {
  readonly id: string
  readonly name: string
  readonly created_at: string
  readonly last_used_at: string | null
  /** It is good from then on; null for always. */
  readonly not_before: string | null
  /** It is good before then; null for ever. */
  readonly expires_at: string | null
  /** The organization that it is good for; null for a key that is bound to none. */
  readonly org_id: string | null
}

/** What a new key begins with. */
export type NewApiKey = Pick<ApiKeyInfo, 'name' | 'not_before' | 'expires_at' | 'org_id'>

interface Kept extends ApiKeyInfo {
  /** SHA-256 of the key, in hexadecimal. */
  readonly hash: string
}

/** The keys of a service. */
export interface ApiKeys {
  /** The only time that the key itself is sent. */
  readonly create: (key: NewApiKey) => Promise<ApiKeyInfo & { readonly key: string }>
  /** The newest first. */
  readonly list: () => Promise<readonly ApiKeyInfo[]>
  /** False when there was none. */
  readonly remove: (id: string) => Promise<boolean>
  /** What a credential stands for: null for no key, and for one outside of its window, which does not count as used. */
  readonly find: (credential: string) => Promise<ApiKeyInfo | null>
}

/** How a key begins, so that scanners know one where it should not be. */
const PREFIX = 'sk-colloquy-'
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
/** 43 letters of 62 hold 256 bits. */
const LENGTH = 43

/** How often it is written that a key was used, in milliseconds. */
const USED_EVERY = 300_000

/**
 * API keys in a store. Any number of processes may share them: a key that one deletes, no other takes.
 *
 * @example
 * const keys = apiKeys(memoryStore())
 * const { key } = await keys.create({ name: 'ci', not_before: null, expires_at: null, org_id: null })
 * const found = await keys.find(key)
 * found.name // 'ci'
 */
export function apiKeys(store: Store, now: () => number = Date.now): ApiKeys {
  const records = recordsOf<Kept>(store, 'api-keys', ({ hash, created_at }) => ({
    keys: { hash, created_at },
  }))
  const madeAt = risingClock(now)
  return {
    async create({ name, not_before, expires_at, org_id }) {
      const key = newKey()
      const id = crypto.randomUUID()
      const created_at = new Date(madeAt()).toISOString()
      const hash = await sha256(key)
      const kept = { id, name, created_at, last_used_at: null, not_before, expires_at, org_id, hash }
      await records.make([records.changeOf(id, kept, null)])
      return { ...shown(kept), key }
    },
    async list() {
      const keys: ApiKeyInfo[] = []
      const newest = { by: 'created_at', descending: true }
      for await (const { record } of records.walk(newest)) keys.push(shown(record))
      return keys
    },
    remove: (id) => records.remove(id),
    async find(credential) {
      // Session keys and what people make up need no look into the store.
      if (!credential.startsWith(PREFIX)) return null
      // How long an index takes shows nothing of a key: no caller can choose its hash.
      const { items } = await records.list({ by: 'hash', value: await sha256(credential), limit: 1 })
      const [found] = items
      const time = now()
      if (found === undefined || !isWithin(found.record, time)) return null
      const { id, version, record } = found
      const used = { ...record, last_used_at: new Date(time).toISOString() }
      if (time - Date.parse(record.last_used_at ?? '1970-01-01') >= USED_EVERY) {
        // A use that cannot be written is one all the same, and a key that was deleted meanwhile stays away.
        await records.make([records.changeOf(id, used, version)]).catch(() => undefined)
      }
      return shown(used)
    },
  }
}

/** Whether a time, in milliseconds since 1970, is within the window: `not_before <= now < expires_at`. */
export const isWithin = (
  { not_before, expires_at }: Pick<ApiKeyInfo, 'not_before' | 'expires_at'>,
  now: number,
): boolean =>
  (not_before === null || Date.parse(not_before) <= now) &&
  (expires_at === null || now < Date.parse(expires_at))

function newKey(): string {
  let key = PREFIX
  while (key.length < PREFIX.length + LENGTH) {
    // The bytes beyond the last multiple of 62 would make some letters likelier.
    for (const byte of crypto.getRandomValues(new Uint8Array(64))) {
      if (byte < 248 && key.length < PREFIX.length + LENGTH) key += LETTERS[byte % 62]
    }
  }
  return key
}

function shown({ hash: _hash, ...info }: Kept): ApiKeyInfo {
  return info
}

const encoder = new TextEncoder()

/** SHA-256 of a text, in hexadecimal. O(length). */
export async function sha256(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', encoder.encode(text)))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Whether two hashes are the same, in a time that depends on their length only. */
export function isSameHash(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let at = 0; at < a.length; at += 1) difference |= a.charCodeAt(at) ^ b.charCodeAt(at)
  return difference === 0
}
