/**
 * API keys with a window of time and an organization; only their hashes are kept, so a stolen database opens nothing.
 */

import type { Store } from '../../store/contract/store.ts'
import { isSameHash, sha256 } from './hash.ts'
import { collection } from '../records/collection.ts'

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

interface Kept extends Omit<ApiKeyInfo, 'last_used_at'> {
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
  const records = collection<Kept>(store, 'api-keys')
  // Apart from the keys: one that is deleted while it is used must not be there again.
  const uses = collection<{ readonly at: string }>(store, 'api-key-uses')
  const written = new Map<string, number>()
  return {
    async create({ name, not_before, expires_at, org_id }) {
      const key = newKey()
      const id = crypto.randomUUID()
      const created_at = new Date(now()).toISOString()
      const kept = { id, name, created_at, not_before, expires_at, org_id, hash: await sha256(key) }
      await records.put(id, kept)
      return { ...shown(kept, null), key }
    },
    async list() {
      const used = await uses.all()
      return [...(await records.all()).values()]
        .map((kept) => shown(kept, used.get(kept.id)?.at ?? null))
        .toReversed()
    },
    async remove(id) {
      const isGone = await records.remove(id)
      written.delete(id)
      if (isGone) await uses.remove(id).catch(() => false)
      return isGone
    },
    async find(credential) {
      // Session keys and what people make up need no look into the store.
      if (!credential.startsWith(PREFIX)) return null
      const hash = await sha256(credential)
      let found: Kept | null = null
      // All of them, at one pace: how long it takes shows nothing of any hash.
      for (const record of (await records.all()).values()) if (isSameHash(record.hash, hash)) found = record
      const time = now()
      if (found === null || !isWithin(found, time)) return null
      const at = new Date(time).toISOString()
      if (time - (written.get(found.id) ?? -Infinity) >= USED_EVERY) {
        written.set(found.id, time)
        // A use that cannot be written is one all the same.
        await uses.put(found.id, { at }).catch(() => undefined)
      }
      return shown(found, at)
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

function shown({ hash: _hash, ...info }: Kept, last_used_at: string | null): ApiKeyInfo {
  return { ...info, last_used_at }
}
