import type { SnapshotPart, Store } from '../../store/contract/store.ts'
import { equal, holds, rejects, rejectsEach } from './assert.ts'
import { alsoInTwoProcesses, type Check, it, large, reopening, test } from './check.ts'
import { after, begin, pause, pauses, pluck } from './facts.ts'

const part = (number: number, ...bytes: readonly number[]): SnapshotPart => ({
  part: number,
  bytes: Uint8Array.from(bytes),
})

const marked = (mark: number, count: number): SnapshotPart[] =>
  Array.from({ length: count }, (_, i) => ({ part: i, bytes: new Uint8Array(500).fill(mark) }))

const lengthsOf = (parts: readonly SnapshotPart[]): number[] => parts.map(({ bytes }) => bytes.length)

function areParts(result: readonly SnapshotPart[], expected: readonly SnapshotPart[], what: string): void {
  equal(pluck(result, 'part'), pluck(expected, 'part'), `numbers of the parts, ${what}`)
  equal(lengthsOf(result), lengthsOf(expected), `lengths of the parts, ${what}`)
  for (const [i, { part: number, bytes }] of result.entries()) {
    const index = bytes.findIndex((byte, n) => byte !== expected[i]?.bytes[n])
    holds(index === -1, `byte ${index} of part ${number} differs, ${what}`)
  }
}

const has = async (store: Store, id: string, expected: readonly SnapshotPart[], what: string) =>
  areParts(await store.loadSnapshot(id), expected, what)

async function neverMixes(one: Store, two: Store): Promise<void> {
  const id = await begin(one, 'c')
  const counts = [3, 7, 5, 2, 6, 4]
  const check = async (store: Store): Promise<void> => {
    const parts = await store.loadSnapshot(id)
    const mark = parts[0]?.bytes[0] ?? 0
    const seen = JSON.stringify(parts.map((each) => [each.part, each.bytes[0]]))
    areParts(parts, marked(mark, counts[mark] ?? 0), `of one save, got ${seen}`)
  }
  await one.saveSnapshot(id, marked(0, counts[0] as number), { complete: true })
  for (let round = 0; round < 5; round += 1) {
    const saves = counts.map((count, mark) =>
      (mark % 2 === 0 ? one : two).saveSnapshot(id, marked(mark, count), { complete: true }),
    )
    await Promise.all([...saves, check(one), check(two)])
    await Promise.all([check(one), check(two)])
  }
}

export const SNAPSHOTS: readonly Check[] = [
  it('snapshot: its parts are returned in order of their numbers, with any bytes, including none', async (store, id) => {
    equal(await store.loadSnapshot(id), [], 'the parts before a save')
    const every = Uint8Array.from({ length: 512 }, (_, i) => i % 256)
    const parts = [
      { part: 2 ** 31 - 1, bytes: every },
      part(10, 0),
      { part: 2, bytes: new Uint8Array(0) },
      // Only the bytes of the view are saved, not its whole buffer.
      { part: 0, bytes: every.subarray(3, 300) },
      { part: 1, bytes: every.subarray(9, 9) },
    ]
    await store.saveSnapshot(id, parts)
    const sorted = parts.toSorted((a, b) => a.part - b.part)
    await has(store, id, sorted, 'as saved')
  }),
  large('snapshot: two mebibytes are returned whole, next to small parts', async (store) => {
    const id = await begin(store, 'c')
    const bytes = Uint8Array.from({ length: 2 * 1_048_576 }, (_, i) => (i * 31 + (i >>> 8)) & 255)
    const parts = [part(0, 1, 2), { part: 1, bytes }, part(2, 3)]
    await store.saveSnapshot(id, parts)
    await has(store, id, parts, 'as saved')
    await store.saveSnapshot(id, [part(2, 4, 4)])
    await has(store, id, [...parts.slice(0, 2), part(2, 4, 4)], 'after a small part was replaced')
  }),
  it('snapshot: saving replaces the listed parts, and with `complete` removes all others', async (store, id) => {
    await store.saveSnapshot(id, [part(0, 1), part(1, 1, 1), part(2, 1)])
    await store.saveSnapshot(id, [part(1, 2), part(3, 2)])
    await has(store, id, [part(0, 1), part(1, 2), part(2, 1), part(3, 2)], 'after saving some')
    await store.saveSnapshot(id, [], { complete: false })
    await has(store, id, [part(0, 1), part(1, 2), part(2, 1), part(3, 2)], 'after saving none')
    await store.saveSnapshot(id, [part(2, 3), part(4, 3)], { complete: true })
    await has(store, id, [part(2, 3), part(4, 3)], 'after a complete save')
    await store.saveSnapshot(id, [], { complete: true })
    await has(store, id, [], 'after a complete save without parts')
    equal(await store.deleteSnapshot(id), false, 'deleting no parts')
  }),
  it('snapshot: changing arguments or results does not change it', async (store, id) => {
    const input = part(0, 1, 2, 3)
    await store.saveSnapshot(id, [input])
    input.bytes.fill(9)
    await has(store, id, [part(0, 1, 2, 3)], 'after the input was changed')
    const [result] = await store.loadSnapshot(id)
    equal(Object.getPrototypeOf(result?.bytes) === Uint8Array.prototype, true, 'is a plain Uint8Array')
    equal(result?.bytes.buffer.byteLength, 3, 'bytes of the buffer')
    result?.bytes.fill(9)
    await has(store, id, [part(0, 1, 2, 3)], 'after the result was changed')
  }),
  test('snapshot: saving, loading and deleting it do not change the record and the log', async (store) => {
    const id = await begin(store, 'c', pauses(3))
    const lease = await store.acquireLease(id, 'me', 60_000)
    const before = [await store.getConversation(id), await store.read(id)]
    // A clock may have a resolution of milliseconds, and a later updatedAt must differ.
    await after(5)
    await store.saveSnapshot(id, [part(0, 1), part(1, 1)])
    await store.saveSnapshot(id, [part(0, 2)], { complete: true })
    await store.loadSnapshot(id)
    await store.deleteSnapshot(id)
    equal([await store.getConversation(id), await store.read(id)], before, 'record and log')
    equal(await store.getLease(id), lease, 'the lease')
    await store.saveSnapshot(id, [part(0, 3)])
    equal((await store.append(id, [pause('q')], { expected: 3 })).version, 4, 'the version after an append')
    await has(store, id, [part(0, 3)], 'after an append')
  }),
  test('snapshot: each conversation has its own, which can be deleted separately', async (store) => {
    for (const id of ['c', 'C', 'c ']) await begin(store, id)
    await store.saveSnapshot('c', [part(0, 1), part(1, 1)])
    await store.saveSnapshot('C', [part(0, 2), part(2, 2)])
    await store.saveSnapshot('C', [part(1, 3)], { complete: true })
    await has(store, 'c', [part(0, 1), part(1, 1)], 'of the first')
    await has(store, 'C', [part(1, 3)], 'of the second')
    await has(store, 'c ', [], 'of the third')
    equal(await store.deleteSnapshot('c'), true, 'result of deleting')
    for (const id of ['c', 'c ']) equal(await store.deleteSnapshot(id), false, 'result of deleting none')
    await has(store, 'c', [], 'of the first, after its deletion')
    await has(store, 'C', [part(1, 3)], 'of the second, after a deletion')
    await store.saveSnapshot('c', [part(1, 4)])
    await has(store, 'c', [part(1, 4)], 'of the first, saved again')
  }),
  test('snapshot: it is deleted with its conversation, and a new conversation with the id has none', async (store) => {
    for (const id of ['c', 'd']) {
      await begin(store, id, pauses(2))
      await store.saveSnapshot(id, [part(0, 1), part(1, 1)])
    }
    equal(await store.deleteConversation('c'), true, 'result of deleting')
    await has(store, 'c', [], 'of a deleted conversation')
    await begin(store, 'c')
    await has(store, 'c', [], 'of a new conversation with that id')
    equal(await store.deleteSnapshot('c'), false, 'result of deleting a snapshot')
    await has(store, 'd', [part(0, 1), part(1, 1)], 'of another conversation')
    for (let round = 0; round < 10; round += 1) {
      const save = () => store.saveSnapshot('c', marked(round, 3))
      await Promise.allSettled([save(), save(), store.deleteConversation('c'), save()])
      await begin(store, 'c')
      await has(store, 'c', [], 'of a new conversation, after saves during a deletion')
    }
  }),
  test('snapshot: an unknown conversation has none, and saving one fails', async (store) => {
    await begin(store, 'c')
    for (const id of ['nowhere', 'C', '', 'c\u0000', '\ud800', 'x'.repeat(1000)]) {
      const name = JSON.stringify(id)
      await rejectsEach('unknown_conversation', [[part(0, 1)], []], (parts) => store.saveSnapshot(id, parts))
      equal(await store.loadSnapshot(id), [], `the snapshot of ${name}`)
      equal(await store.deleteSnapshot(id), false, `deleting the snapshot of ${name}`)
    }
    await has(store, 'c', [], 'of another conversation')
  }),
  it('snapshot: invalid parts and too many bytes are invalid_argument, and nothing is written', async (store, id) => {
    await store.saveSnapshot(id, [part(0, 1)])
    const invalid: readonly (readonly SnapshotPart[])[] = [
      ...[-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, '1' as unknown as number].map((number) => [
        part(number, 2),
      ]),
      [part(1, 2), part(1, 2)],
      [{ part: 1, bytes: 'text' as unknown as Uint8Array }],
      [{ part: 1, bytes: new Uint8Array(2 ** 27 + 1) }],
    ]
    for (const parts of invalid) {
      const save = () => store.saveSnapshot(id, [part(0, 2), ...parts], { complete: true })
      await rejects('invalid_argument', `part ${String(parts[0]?.part)} of ${parts.length}`, save)
    }
    await has(store, id, [part(0, 1)], 'after invalid saves')
  }),
  ...alsoInTwoProcesses(
    'snapshot: concurrent complete saves leave one whole snapshot at any time',
    'snapshot: concurrent complete saves of two processes leave one whole snapshot at any time',
    neverMixes,
  ),
  reopening('reopen: a snapshot is there, as it was saved last', async (store, { reopen }) => {
    const id = await begin(store, 'c', pauses(2))
    await store.saveSnapshot(id, [part(0, 1), part(1, 1), part(2, 0, 255)])
    await store.saveSnapshot(id, [part(0), part(1, 2)])
    const again = await reopen()
    await has(again, id, [part(0), part(1, 2), part(2, 0, 255)], 'after reopening')
    await again.saveSnapshot(id, [part(1, 3)], { complete: true })
    await has(store, id, [part(1, 3)], 'in the first store')
    await store.close()
    const last = await reopen()
    await has(last, id, [part(1, 3)], 'after closing and reopening')
    equal([await last.deleteSnapshot(id), await again.deleteSnapshot(id)], [true, false], 'both deletions')
  }),
]
