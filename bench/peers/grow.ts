/** Measures the time and disk space of a history that grows event by event from nothing. */

import type { Contender } from './contender.ts'
import type { GrownRow } from './figures.ts'
import type { Grounds } from './grounds.ts'
import { history, lettersOfItems, take, TURN } from './items.ts'

/** Null for a history in memory, or one that equals another. */
export async function grow(contender: Contender, length: number, grounds: Grounds): Promise<GrownRow | null> {
  const { family, setting, ground } = contender
  if (ground === 'memory' || contender.growsAs !== undefined) return null
  const database = await grounds.make(ground)
  try {
    const items = take(history(length), length)
    const session = await contender.open(database)
    const first = length % TURN || TURN
    const start = performance.now()
    await session.append(items.slice(0, first))
    for (let start = first; start < length; start += TURN)
      await session.append(items.slice(start, start + TURN))
    const each = Math.round(((performance.now() - start) * 100_000) / length) / 100
    await session.leave()
    const isNamed = setting !== '' && setting !== 'default' && setting !== 'best'
    const name = isNamed ? `${family}, ${setting}` : family
    return {
      family: name,
      length,
      each,
      bytes: await grounds.bytesIn(database),
      texts: lettersOfItems(items),
    }
  } finally {
    await grounds.remove(database)
  }
}
