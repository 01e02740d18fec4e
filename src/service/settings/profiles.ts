import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { checkDestination, SealedMap, type SecretBox } from './secret-box.ts'
import { matching } from '../http/parameters.ts'
import { merge, PROFILE_NAME } from './settings-schema.ts'
import { hasSecret, shownText } from '../mask-secrets.ts'

export const profileName = matching(
  PROFILE_NAME,
  'Must be 1 to 64 letters, digits and . _ -, beginning with a letter or digit',
)

export const SEALED = { 409: 'Secrets cannot be stored, or were encrypted with another secret' }

/** The model profiles of a service, by name. They contain secrets, which are never sent to clients. */
export class Profiles extends SealedMap {
  constructor(store: Store, secretBox: SecretBox, limit: number) {
    super(store, secretBox, { collection: 'profiles', noun: 'profile', limit })
  }

  /**
   * Stores a profile. If the profile contains a masked secret, the stored secret is kept.
   * @throws HttpProblem 400 if a masked secret in a list matches no stored secret, 409 if secrets
   *   cannot be stored or there are too many profiles, 422 if a stored secret would be sent to another address.
   */
  async save(name: string, llm: JsonObject): Promise<void> {
    await this.put(name, (before = {}) => mergeKnown(before, llm, ['llm']))
  }
}

/**
 * Returns the requested value with its masked secrets replaced by the stored secrets.
 * @throws HttpProblem 422 if a stored secret would be sent to a new address.
 */
export function mergeKnown(before: JsonObject, requested: JsonObject, loc: readonly string[]): JsonObject {
  const known = Object.fromEntries(
    Object.entries(before).filter(([field]) => Object.hasOwn(requested, field)),
  )
  const merged = merge(known, requested)
  checkDestination(before, merged, requested, loc)
  return merged
}

/** Fields that are never sent to clients. Not all their names match the pattern for secrets. */
const SECRETS = ['api_key', 'aws_access_key_id', 'aws_secret_access_key', 'aws_session_token'] as const

export const isKeySet = (llm: JsonObject): boolean =>
  SECRETS.some((field) => typeof llm[field] === 'string' && llm[field] !== '')

export function withoutKeys(llm: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(llm).map(([name, value]): [string, JsonValue] => {
      const shown = typeof value === 'string' ? shownText(value) : (value ?? null)
      const isKey = (SECRETS as readonly string[]).includes(name) || hasSecret({ [name]: shown })
      return [name, isKey ? null : shown]
    }),
  )
}
