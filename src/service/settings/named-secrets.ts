/** Secrets by name, for the agents of a service: they are written, and never shown. */

import type { Store } from '../../store/contract/store.ts'
import { HttpProblem } from '../http/problem.ts'
import { SealedMap } from './sealed-map.ts'
import type { SecretBox } from './secret-box.ts'

/** What is shown of one. */
export interface SecretInfo {
  readonly name: string
  readonly description: string | null
}

/** How one may be called: as an environment variable. */
export const SECRET_NAME = /^[A-Za-z][A-Za-z0-9_]{0,63}$/

const MOST = 1_000

/** The secrets of a service. */
export class NamedSecrets {
  readonly #kept: SealedMap

  constructor(store: Store, secretBox: SecretBox) {
    this.#kept = new SealedMap(store, secretBox, 'named-secrets')
  }

  /** By name. */
  async list(): Promise<SecretInfo[]> {
    const all = Array.from(await this.#kept.all(), ([name, { description }]) => ({
      name,
      description: typeof description === 'string' ? description : null,
    }))
    return all.toSorted((a, b) => Number(a.name > b.name) - Number(a.name < b.name))
  }

  /** With their values: for the service's own agent, never for a response. */
  async values(): Promise<ReadonlyMap<string, string>> {
    return new Map(Array.from(await this.#kept.all(), ([name, { secret }]) => [name, String(secret)]))
  }

  /** Keeps one, in place of one with its name. @throws HttpProblem 409 where no secrets can be kept, or no more. */
  async put({ name, description }: SecretInfo, secret: string): Promise<void> {
    await this.#kept.change((all) => {
      if (!all.has(name) && all.size >= MOST)
        throw new HttpProblem(409, `There are ${MOST} secrets already; delete one before you add another.`)
      all.set(name, { secret, description })
    })
  }

  /** Says of one what it is called, and what it is for. @throws HttpProblem 404, 409 when the name is taken. */
  async describe(name: string, info: SecretInfo): Promise<void> {
    await this.#kept.change((all) => {
      const kept = all.get(name)
      if (kept === undefined) throw unknownSecret()
      if (info.name !== name && all.has(info.name))
        throw new HttpProblem(409, 'A secret of this name is there.')
      all.delete(name)
      all.set(info.name, { ...kept, description: info.description })
    })
  }

  /** @throws HttpProblem 404. */
  async remove(name: string): Promise<void> {
    await this.#kept.change((all) => {
      if (!all.delete(name)) throw unknownSecret()
    })
  }
}

/** The name is not said again: a secret may have been put into its place. */
export const unknownSecret = (): HttpProblem => new HttpProblem(404, 'There is no secret of this name.')
