import { describe, expect, it } from 'vitest'
import { recordsOf } from '../../src/service/records.ts'
import { STORES } from './client.ts'

interface Count {
  readonly n: number
}

const add = (before: Count | null): Count => ({ n: (before?.n ?? 0) + 1 })

describe.each(Object.entries(STORES))('records over %s', (_, make) => {
  it('lose no concurrent update, and are gone after a removal', async () => {
    const store = make()
    const many = Array.from({ length: 5 }, () => recordsOf<Count>(store, 'some'))
    await Promise.all(Array.from({ length: 50 }, (_, index) => many[index % 5]?.update('n', add)))
    expect(await many[0]?.find('n')).toMatchObject({ id: 'n', record: { n: 50 } })
    const gone = await Promise.all(many.map((one) => one.remove('n')))
    expect(gone).toContain(true)
    expect([await many[0]?.find('n'), await many[0]?.remove('n')]).toEqual([null, false])
    await store.close()
  })
})
