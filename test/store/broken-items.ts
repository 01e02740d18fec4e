import { ColloquyError } from '../../src/event/errors.ts'
import type { Item, ItemChange } from '../../src/store/contract/items.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { altered, type Fault, nextTurn } from './altered.ts'

const unexpected = ({ collection, id, put }: ItemChange): ItemChange => ({
  collection,
  id,
  ...(put !== undefined && { put }),
})

/** Compares outside the transaction, so another write can get in between. */
async function compareOutside(store: Store, changes: readonly ItemChange[]): Promise<(Item | null)[]> {
  for (const { collection, id, expected } of changes) {
    const version = (await store.getItem(collection, id))?.version ?? null
    if (expected !== undefined && expected !== version)
      throw new ColloquyError('version_conflict', 'overtaken', { collection, id, version })
  }
  await nextTurn()
  return store.changeItems(changes.map(unexpected))
}

export const ITEM_FAULTS: readonly Fault[] = [
  [
    'compares item versions outside the transaction',
    'item: exactly one of many concurrent changes of a version wins, and one of many creations',
    () => altered((inner) => ({ changeItems: (changes) => compareOutside(inner, changes) })),
  ],
  [
    'changes items in separate transactions',
    'item: several changes are applied together or not at all',
    () =>
      altered((inner) => ({
        async changeItems(changes) {
          const items: (Item | null)[] = []
          for (const change of changes) items.push(...(await inner.changeItems([change])))
          return items
        },
      })),
  ],
  [
    'restarts item versions at 1 after a removal',
    'item: versions never repeat, even if the item is removed and stored again',
    () => {
      const counts = new Map<string, number>()
      return altered((inner) => ({
        async changeItems(changes) {
          const items = await inner.changeItems(changes)
          return items.map((item, index) => {
            const { id = '', put = null } = changes[index] ?? {}
            counts.set(id, put === null ? 0 : (counts.get(id) ?? 0) + 1)
            return item && { ...item, version: counts.get(id) ?? 0 }
          })
        },
      }))
    },
  ],
  [
    'returns the same due items to concurrent claims',
    'claim: due items are claimed in order of their due time, each by one of many processes',
    () => {
      let claim: Promise<Item[]> | null = null
      return altered((inner) => ({
        claimItems: (...input) => {
          claim ??= inner.claimItems(...input).finally(() => (claim = null))
          return claim
        },
      }))
    },
  ],
  [
    'accepts the version of an expired claim',
    'claim: after it expires, another process can claim the item, and the first can no longer change it',
    () =>
      altered((inner) => ({
        changeItems: (changes) =>
          inner.changeItems(changes.map((change) => (change.expected ? unexpected(change) : change))),
      })),
  ],
  [
    'sorts items by UTF-16 code units',
    'items: pages by id and by key partition the collection, in code-point order, in both directions',
    () =>
      altered((inner) => ({
        async listItems(...input) {
          const page = await inner.listItems(...input)
          return { ...page, items: page.items.toSorted((a, b) => (a.id < b.id ? -1 : 1)) }
        },
      })),
  ],
]
