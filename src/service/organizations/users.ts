/** Users that were provisioned: an e-mail address in an organization, and the API key that was made for it. */

import { sha256 } from '../auth/hash.ts'
import type { ApiKeys } from '../auth/api-keys.ts'
import type { Store } from '../../store/contract/store.ts'
import { type Records, recordsOf } from '../records/records.ts'

/** One of them. */
export interface User {
  readonly user_id: string
  /** In small letters. */
  readonly email: string
  readonly org_id: string
  /** Id of the API key that was made for it. */
  readonly key_id: string | null
}

/** The users of a service. */
export class Users {
  readonly #records: Records<User>
  readonly #keys: ApiKeys

  constructor(store: Store, keys: ApiKeys) {
    this.#keys = keys
    this.#records = recordsOf<User>(store, 'users', ({ org_id, key_id }) => ({
      keys: { org: org_id, ...(key_id !== null && { key: key_id }) },
    }))
  }

  /**
   * Makes one with an API key that is bound to its organization; one that is there stays as it is, and no second key is
   * made. The key itself is given to who made it, this once.
   */
  async provision(
    org_id: string,
    given: string,
    keyName: string | null,
  ): Promise<{ readonly user: User; readonly key: string | null; readonly isNew: boolean }> {
    const email = given.toLowerCase()
    const id = await sha256(`${org_id}\n${email}`)
    const known = await this.#records.find(id)
    if (known !== null) return { user: known.record, key: null, isNew: false }
    const made = await this.#keys.create({
      name: keyName ?? email.slice(0, 255),
      not_before: null,
      expires_at: null,
      org_id,
    })
    let isNew = false
    const user = await this.#records.update(id, (before) => {
      isNew = before === null
      return before ?? { user_id: crypto.randomUUID(), email, org_id, key_id: made.id }
    })
    // Another request was faster: the user has one key.
    if (!isNew) await this.#keys.remove(made.id)
    return { user: user as User, key: isNew ? made.key : null, isNew }
  }

  /** Whose key it is; null for one that was made by itself. */
  async byKey(keyId: string): Promise<User | null> {
    const { items } = await this.#records.list({ by: 'key', value: keyId, limit: 1 })
    return items[0]?.record ?? null
  }

  /** The organizations that users were provisioned in. O(users). */
  async organizations(): Promise<string[]> {
    const all = new Set<string>()
    for await (const { record } of this.#records.walk({ by: 'org' })) all.add(record.org_id)
    return [...all]
  }
}
