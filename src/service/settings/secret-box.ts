/**
 * Encrypts values that may hold secrets with the service's own key; without one, secrets are refused rather than kept
 * in the clear.
 */

import { serialQueue } from '../../conversation/async.ts'
import { canonicalJson } from '../../event/encode.ts'
import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { hasSecret, isSecret, isSecretMap, textsIn } from '../conversations/secrets.ts'
import { HttpProblem, invalid } from '../http/problem.ts'
import { type Records, recordsOf } from '../records.ts'

/** What is kept of a value: in the clear, or sealed. */
export type Kept = { readonly open: JsonObject } | { readonly sealed: string }

/** Seals and opens. */
export interface SecretBox {
  /** Whether there is no key to seal with. */
  readonly isOpen: boolean
  /**
   * `place` is where it is kept: what is sealed for one place opens at no other. @throws HttpProblem 409 for a secret,
   * without a key.
   */
  readonly seal: (place: string, value: JsonObject) => Promise<Kept>
  /** @throws HttpProblem 409 for what another key sealed, or what was changed. */
  readonly open: (place: string, kept: Kept) => Promise<JsonObject>
}

/** Bytes of the number that is never used twice. */
const NONCE = 12

const encoder = new TextEncoder()

/**
 * A secret box with a key made of a secret, which should be as hard to guess as a key: AES-256-GCM, the key by
 * HKDF-SHA-256. Without one it seals nothing: what is a secret by its name, or in an address, is refused, and all else
 * is kept in the clear.
 */
export function secretBox(secret: string | null): SecretBox {
  const key = secret === null ? null : keyOf(secret)
  key?.catch(() => undefined)
  return {
    isOpen: key === null,
    async seal(place, value) {
      if (key === null) {
        if (hasSecret(value))
          throw new HttpProblem(
            409,
            'The service has no secret to encrypt with, so it cannot store API keys. Start it with one (COLLOQUY_SECRET for the command).',
          )
        return { open: value }
      }
      const iv = crypto.getRandomValues(new Uint8Array(NONCE))
      const text = encoder.encode(JSON.stringify(value))
      const sealed = await crypto.subtle.encrypt(
        { name: 'AES-GCM', iv, additionalData: encoder.encode(place) },
        await key,
        text,
      )
      return { sealed: toBase64(new Uint8Array([...iv, ...new Uint8Array(sealed)])) }
    },
    async open(place, kept) {
      if ('open' in kept) return kept.open
      try {
        if (key === null) throw new Error('There is no key.')
        const bytes = Uint8Array.from(atob(kept.sealed), (character) => character.charCodeAt(0))
        const text = await crypto.subtle.decrypt(
          { name: 'AES-GCM', iv: bytes.subarray(0, NONCE), additionalData: encoder.encode(place) },
          await key,
          bytes.subarray(NONCE),
        )
        return JSON.parse(new TextDecoder().decode(text)) as JsonObject
      } catch {
        throw new HttpProblem(
          409,
          `${place} was encrypted with another secret. Start the service with that secret.`,
        )
      }
    },
  }
}

async function keyOf(secret: string) {
  const material = await crypto.subtle.importKey('raw', encoder.encode(secret), 'HKDF', false, ['deriveKey'])
  return crypto.subtle.deriveKey(
    { name: 'HKDF', hash: 'SHA-256', salt: encoder.encode('colloquy'), info: encoder.encode('settings') },
    material,
    { name: 'AES-GCM', length: 256 },
    false,
    ['encrypt', 'decrypt'],
  )
}

function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** Values by name, in the order in which they were kept first. */
export class SealedMap {
  readonly #place: string
  readonly #records: Records<Kept>
  readonly #secretBox: SecretBox
  readonly #inTurn = serialQueue()

  /** @param place what they are kept as */
  constructor(store: Store, secretBox: SecretBox, place: string) {
    this.#place = place
    this.#records = recordsOf<Kept>(store, place)
    this.#secretBox = secretBox
  }

  /** With their secrets. @throws HttpProblem 409 for what was sealed with another secret. */
  async all(): Promise<ReadonlyMap<string, JsonObject>> {
    return this.#open((await this.#records.find(this.#place))?.record ?? null)
  }

  /**
   * Made when no other change came in between; else it is asked for again. @throws HttpProblem 409 for a secret that
   * cannot be kept; what the change throws.
   */
  async change(change: (values: Map<string, JsonObject>) => void): Promise<void> {
    await this.#inTurn(() =>
      this.#records.update(this.#place, async (before) => {
        const values = await this.#open(before)
        change(values)
        return this.#secretBox.seal(this.#place, { values: [...values] as readonly JsonValue[] })
      }),
    )
  }

  async #open(kept: Kept | null): Promise<Map<string, JsonObject>> {
    if (kept === null) return new Map()
    const { values } = await this.#secretBox.open(this.#place, kept)
    return new Map(values as readonly (readonly [string, JsonObject])[])
  }
}

/** Fields that say where something goes, or what is run with it. */
const NAMES = /(?:url|uri|host|endpoint|proxy|api_?base|headers|command|args)$/i
const URL_LIKE = /^[a-z][\w+.-]*:\/\//i

type Path = readonly string[]

/**
 * Refuses a change that would take a secret that was not given with it to another address: one beside the secret, above
 * or below it. O(size · depth).
 *
 * @param loc where the changed value stands in the request
 * @param group whether the value only groups others, as the settings do: what stands in it does not go where its
 * neighbours' parts go
 * @throws HttpProblem 422 that names the field of the secret
 */
export function checkDestination(
  before: JsonObject,
  after: JsonObject,
  given: JsonObject,
  loc: Path,
  group = false,
): void {
  const known = new Set(textsIn(given))
  const isKept = (value: JsonValue): boolean => textsIn(value).some((text) => text !== '' && !known.has(text))
  const check = (
    old: JsonValue,
    now: JsonValue,
    at: Path,
    moved: boolean,
    isGroup: boolean,
    isMap = false,
  ): void => {
    if (!isObject(now)) {
      if (Array.isArray(now)) now.forEach((item) => check(null, item, at, moved, false, isMap))
      return
    }
    const was = isObject(old) ? old : {}
    const here = moved || !isSame(addressesBeside(was), addressesBeside(now))
    const below = here || (!isGroup && !isSame(addressesBelow(was), addressesBelow(now)))
    for (const [name, value] of Object.entries(now) as [string, JsonValue][]) {
      const isOfMap = isMap || isSecretMap(name, value)
      const isValue = isSecret(name, value) || (isOfMap && !isObject(value))
      // Where the address of a map is changed, all that is kept in it moves.
      if (!isValue)
        check(was[name] ?? null, value, [...at, name], isOfMap ? below : here && !isGroup, false, isOfMap)
      else if (below && isKept(value)) throw refusal([...at, name])
    }
  }
  check(before, after, loc, false, group)
}

const refusal = (loc: Path) =>
  invalid({
    type: 'value_error',
    loc: ['body', ...loc],
    msg: 'Value error, The stored secret belongs to another address. Send the secret again, or keep the address and the headers.',
  })

const isSame = (a: JsonObject, b: JsonObject): boolean => canonicalJson(a) === canonicalJson(b)

const isAddress = (name: string, value: JsonValue | undefined): boolean =>
  value !== null && (NAMES.test(name) || (typeof value === 'string' && URL_LIKE.test(value)))

/** The addresses that are fields of a value. */
const addressesBeside = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([name, one]) => isAddress(name, one)))

/** The addresses at any depth. */
function addressesBelow(value: JsonValue): JsonObject {
  if (typeof value !== 'object' || value === null) return {}
  const inner = Object.entries(value as JsonObject).flatMap(([name, one]): [string, JsonValue][] => {
    if (isAddress(name, one)) return [[name, one ?? null]]
    const found = addressesBelow(one ?? null)
    return Object.keys(found).length === 0 ? [] : [[name, found]]
  })
  return Object.fromEntries(inner)
}
