/** The ids of conversations that are yet to be made: no two tasks that are not over plan one. */

import type { ItemChange } from '../../../store/contract/items.ts'
import type { Store } from '../../../store/contract/store.ts'
import { plainId } from '../../conversations/find.ts'
import { type Records, recordsOf } from '../../records/records.ts'
import { isOver, type KeptTask } from './start-task.ts'

/** Keyed by ids without dashes, so that both forms of a UUID are one key. */
export class PlannedIds {
  readonly #records: Records<{ readonly task: string }>

  constructor(store: Store) {
    this.#records = recordsOf(store, 'planned-conversations')
  }

  /** Gives an id to a task; with an expected version of null, only where no other task has it. */
  given({ id, planned_id }: KeptTask, expected?: null): ItemChange {
    return this.#records.changeOf(plainId(planned_id), { task: id }, expected)
  }

  /** What else is changed when a task is over, or taken out: its id is free. */
  freed(task: KeptTask): readonly ItemChange[] {
    return isOver(task) ? [] : [this.#records.changeOf(plainId(task.planned_id), null)]
  }

  /** The task that an id is given to. */
  async taskOf(conversationId: string): Promise<string | null> {
    return (await this.#records.find(plainId(conversationId)))?.record.task ?? null
  }
}
