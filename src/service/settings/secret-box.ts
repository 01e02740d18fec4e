/**
 * Encrypts values that may hold secrets with the service's own key; without one, secrets are refused rather than kept
 * in the clear.
 */

import type { JsonObject } from '../../event/shapes.ts'
import { HttpProblem } from '../http/problem.ts'
import { hasSecret } from '../conversations/secrets.ts'

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
            'This service was made without a secret to seal with, so it keeps no API keys: start it with one (COLLOQUY_SECRET for the command).',
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
          `What is kept as ${place} was sealed with another secret: start the service with that one.`,
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
