/** A bare table with the JSON of Colloquy's events, which shows the disk overhead of the store. */

import type { Contender } from '../contender.ts'
import { eventOf } from './colloquy.ts'
import { openPostgresTable, openSqliteTable, openTable } from './plain.ts'

const MEANS = "the bare table, with the JSON of Colloquy's events"

/** Only its size on disk is compared. */
export const SAME_JSON: readonly Contender[] = [
  {
    family: "Bare table, SQLite, Colloquy's JSON",
    setting: '',
    description: MEANS,
    medium: 'files',
    survives: 'a power cut',
    open: (database) => openTable(() => openSqliteTable(database, bodyOf)),
  },
  {
    family: "Bare table, PostgreSQL, Colloquy's JSON",
    setting: '',
    description: MEANS,
    medium: 'postgres',
    survives: 'a power cut',
    open: (database) => openTable(() => openPostgresTable(database, bodyOf)),
  },
]

/** Adds the fields that every stored event gets. */
function bodyOf(item: Parameters<typeof eventOf>[0]): string {
  const stamps = { timestamp: '2026-01-01T00:00:00.000000Z', parent_id: item.id }
  return JSON.stringify({ ...eventOf(item), ...stamps })
}
