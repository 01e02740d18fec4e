/** Small things by name, sealed together in one record: their number is bounded by who keeps them. */

import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { Store } from '../../store/contract/store.ts'
import { serialQueue } from '../../conversation/async.ts'
import { type Records, recordsOf } from '../records.ts'
import type { Kept, SecretBox } from './secret-box.ts'

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
