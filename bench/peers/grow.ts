/** Measures the time and disk space of a history that grows from empty, event by event. */

import type { Contender } from './contender.ts'
import type { GrownRow } from './figures.ts'
import type { Locations } from './locations.ts'
import { history, charactersOfItems, take, TURN } from './items.ts'

/** Returns null for a history in memory, and for a setting that another one represents (`growsAs`). */
export async function grow(
  contender: Contender,
  length: number,
  locations: Locations,
): Promise<GrownRow | null> {
  const { family, setting, medium } = contender
  if (medium === 'memory' || contender.growsAs !== undefined) return null
  const database = await locations.create(medium)
  try {
    const items = take(history(length), length)
    const session = await contender.open(database)
    const first = length % TURN || TURN
    const start = performance.now()
    await session.append(items.slice(0, first))
    for (let start = first; start < length; start += TURN)
      await session.append(items.slice(start, start + TURN))
    const each = Math.round(((performance.now() - start) * 100_000) / length) / 100
    await session.close()
    const isNamed = setting !== '' && setting !== 'default' && setting !== 'best'
    const name = isNamed ? `${family}, ${setting}` : family
    return {
      family: name,
      length,
      each,
      bytes: await locations.bytesIn(database),
      texts: charactersOfItems(items),
    }
  } finally {
    await locations.remove(database)
  }
}
