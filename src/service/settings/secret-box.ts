import { serialQueue } from '../../conversation/async.ts'
import { canonicalJson } from '../../event/encode.ts'
import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { base64Of } from '../../messages/text-files.ts'
import { HttpProblem, invalidValue } from '../http/problem.ts'
import { hasSecret, isSecret, isSecretMap, textsIn } from '../mask-secrets.ts'
import { type Records, recordsOf } from '../records.ts'

export type Sealed = { readonly open: JsonObject } | { readonly sealed: string }

export interface SecretBox {
  /** Whether values are stored as plain text, because there is no key. */
  readonly isOpen: boolean
  /**
   * Encrypts a value for a location. The value cannot be decrypted for another location.
   * @throws HttpProblem 409 for a value with a secret, if there is no key.
   */
  readonly seal: (location: string, value: JsonObject) => Promise<Sealed>
  /**
   * Decrypts a value that was encrypted for this location.
   * @throws HttpProblem 409 if the value was encrypted with another key, or was changed since.
   */
  readonly open: (location: string, stored: Sealed) => Promise<JsonObject>
}

const NONCE = 12

const encoder = new TextEncoder()

/**
 * Returns a box that encrypts values with AES-256-GCM. HKDF-SHA-256 derives the key from `secret`, which must be as
 * hard to guess as a key. If `secret` is null, values are stored as plain text, and values with secrets are rejected.
 */
export function secretBox(secret: string | null): SecretBox {
  const key = secret === null ? null : keyOf(secret)
  key?.catch(() => undefined)
  return {
    isOpen: key === null,
    async seal(location, value) {
      if (key === null) {
        if (hasSecret(value))
          throw new HttpProblem(
            409,
            'The service cannot store secrets without a key to encrypt them. Set `COLLOQUY_SECRET`, or pass `secret`.',
          )
        return { open: value }
      }
      const iv = crypto.getRandomValues(new Uint8Array(NONCE))
      const text = encoder.encode(JSON.stringify(value))
      const sealed = await crypto.subtle.encrypt(
        { name: 'AES-GCM', iv, additionalData: encoder.encode(location) },
        await key,
        text,
      )
      return { sealed: base64Of(new Uint8Array([...iv, ...new Uint8Array(sealed)])) }
    },
    async open(location, stored) {
      if ('open' in stored) return stored.open
      try {
        if (key === null) throw new Error('There is no key.')
        const bytes = Uint8Array.from(atob(stored.sealed), (character) => character.charCodeAt(0))
        const text = await crypto.subtle.decrypt(
          { name: 'AES-GCM', iv: bytes.subarray(0, NONCE), additionalData: encoder.encode(location) },
          await key,
          bytes.subarray(NONCE),
        )
        return JSON.parse(new TextDecoder().decode(text)) as JsonObject
      } catch {
        throw new HttpProblem(
          409,
          `Stored secrets (${location}) cannot be decrypted. Start the service with the \`COLLOQUY_SECRET\` (or \`secret\`) that encrypted them.`,
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

interface SealedMapOptions {
  /** Collection of the record. Its values cannot be decrypted in another collection. */
  readonly collection: string
  /** Noun for a value in error messages. They omit the value's name, which may be a secret sent by mistake. */
  readonly noun: string
  readonly limit: number
}

/**
 * A map from names to values, stored encrypted. One record contains all values, because their number is
 * limited. Each method throws HttpProblem 409 if the values were encrypted with another key, or if secrets
 * cannot be stored.
 */
export class SealedMap {
  readonly #options: SealedMapOptions
  readonly #records: Records<Sealed>
  readonly #secretBox: SecretBox
  /** Runs changes one after another, so that two changes by this process never conflict. */
  readonly #inTurn = serialQueue()

  constructor(store: Store, secretBox: SecretBox, options: SealedMapOptions) {
    this.#options = options
    this.#records = recordsOf<Sealed>(store, options.collection)
    this.#secretBox = secretBox
  }

  async all(): Promise<ReadonlyMap<string, JsonObject>> {
    const values = await this.#open((await this.#records.find(this.#options.collection))?.record ?? null)
    return new Map([...values].toSorted(([a], [b]) => Number(a > b) - Number(a < b)))
  }

  /** Returns a value by name. @throws HttpProblem 404 for an unknown name. */
  async get(name: string): Promise<JsonObject> {
    const value = (await this.all()).get(name)
    if (value === undefined) throw this.unknown()
    return value
  }

  async put(name: string, valueOf: (before: JsonObject | undefined) => JsonObject): Promise<void> {
    const { noun, limit } = this.#options
    await this.change((all) => {
      if (!all.has(name) && all.size >= limit)
        throw new HttpProblem(409, `The maximum of ${limit} ${noun}s has been reached. Delete one first.`)
      all.set(name, valueOf(all.get(name)))
    })
  }

  /** Renames and changes a value. @throws HttpProblem 404 for an unknown name, 409 for a used new name. */
  async rename(name: string, newName: string, changes: JsonObject = {}): Promise<void> {
    await this.change((all) => {
      const value = all.get(name)
      if (value === undefined) throw this.unknown()
      if (newName !== name && all.has(newName))
        throw new HttpProblem(409, `Another ${this.#options.noun} has this name. Use another name.`)
      all.delete(name)
      all.set(newName, { ...value, ...changes })
    })
  }

  async remove(name: string): Promise<JsonObject | undefined> {
    let value: JsonObject | undefined
    await this.change((all) => {
      value = all.get(name)
      all.delete(name)
    })
    return value
  }

  unknown(): HttpProblem {
    const { noun } = this.#options
    return new HttpProblem(404, `${noun.replace(/^./, (first) => first.toUpperCase())} not found.`)
  }

  /** Changes the values; calls `change` again if another process changed them first. */
  async change(change: (values: Map<string, JsonObject>) => void): Promise<void> {
    const { collection } = this.#options
    await this.#inTurn(() =>
      this.#records.update(collection, async (before) => {
        const values = await this.#open(before)
        change(values)
        return this.#secretBox.seal(collection, { values: [...values] as readonly JsonValue[] })
      }),
    )
  }

  async #open(sealed: Sealed | null): Promise<Map<string, JsonObject>> {
    if (sealed === null) return new Map()
    const { values } = await this.#secretBox.open(this.#options.collection, sealed)
    return new Map(values as readonly (readonly [string, JsonObject])[])
  }
}

/** Names of fields that determine where a secret is sent, or which command receives it. */
const NAMES = /(?:url|uri|host|endpoint|proxy|api_?base|headers|command|args)$/i
const URL_LIKE = /^[a-z][\w+.-]*:\/\//i

type Path = readonly string[]

/**
 * Rejects a request that changes the address to which a stored secret is sent, unless the request contains
 * the secret itself. Otherwise, a client could have the secret sent to any address.
 * @param loc path of the changed value in the request
 * @param group true if a secret in one field is never sent to an address in another field, as in the settings
 * @throws HttpProblem 422 with the field of the secret
 */
export function checkDestination(
  before: JsonObject,
  after: JsonObject,
  request: JsonObject,
  loc: Path,
  group = false,
): void {
  const known = new Set(textsIn(request))
  const isStored = (value: JsonValue): boolean =>
    textsIn(value).some((text) => text !== '' && !known.has(text))
  const check = (
    old: JsonValue,
    now: JsonValue,
    path: Path,
    moved: boolean,
    isGroup: boolean,
    isMap = false,
  ): void => {
    if (!isObject(now)) {
      if (Array.isArray(now)) now.forEach((item) => check(null, item, path, moved, false, isMap))
      return
    }
    const was = isObject(old) ? old : {}
    const isMovedHere = moved || !isEqualJson(addressesBeside(was), addressesBeside(now))
    const isMovedBelow = isMovedHere || (!isGroup && !isEqualJson(addressesBelow(was), addressesBelow(now)))
    for (const [name, value] of Object.entries(now) as [string, JsonValue][]) {
      const isOfMap = isMap || isSecretMap(name, value)
      const isValue = isSecret(name, value) || (isOfMap && !isObject(value))
      // If the address of a map changes, all stored values of the map are affected.
      if (!isValue)
        check(
          was[name] ?? null,
          value,
          [...path, name],
          isOfMap ? isMovedBelow : isMovedHere && !isGroup,
          false,
          isOfMap,
        )
      else if (isMovedBelow && isStored(value)) throw refusal([...path, name])
    }
  }
  check(before, after, loc, false, group)
}

const refusal = (loc: Path) =>
  invalidValue(
    ['body', ...loc],
    'the stored secret belongs to another address. Send the secret again, or keep the address and the headers.',
  )

const isEqualJson = (a: JsonObject, b: JsonObject): boolean => canonicalJson(a) === canonicalJson(b)

const isAddress = (name: string, value: JsonValue | undefined): boolean =>
  value !== null && (NAMES.test(name) || (typeof value === 'string' && URL_LIKE.test(value)))

const addressesBeside = (value: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(value).filter(([name, one]) => isAddress(name, one)))

function addressesBelow(value: JsonValue): JsonObject {
  if (typeof value !== 'object' || value === null) return {}
  const inner = Object.entries(value as JsonObject).flatMap(([name, one]): [string, JsonValue][] => {
    if (isAddress(name, one)) return [[name, one ?? null]]
    const addresses = addressesBelow(one ?? null)
    return Object.keys(addresses).length === 0 ? [] : [[name, addresses]]
  })
  return Object.fromEntries(inner)
}
