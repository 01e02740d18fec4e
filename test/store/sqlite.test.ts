/** The SQLite store passes the conformance kit with every driver, on files and in memory. The first driver also runs the slow cases. */

import { afterAll, describe, expect, it } from 'vitest'
import { storeConformance } from '../../src/testing/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { DRIVERS, folder, opener, openWithBigints, ROWS } from './sqlite-drivers.ts'

const FILES = folder()
afterAll(FILES.remove)

for (const [index, driver] of DRIVERS.entries()) {
  describe(`the SQLite store with ${driver}, on a file`, () => {
    const { open, reopen } = opener(driver, FILES)
    const cases = storeConformance({
      name: driver,
      open,
      reopen,
      rows: ROWS,
      size: index === 0 ? 'whole' : 'quick',
    })

    it('skips no case of the conformance kit', () => {
      expect(cases.length).toBeGreaterThan(60)
      expect(cases.some(({ name }) => name.startsWith('reopen'))).toBe(true)
      expect(cases.filter(({ skipped }) => skipped !== null)).toEqual([])
    })

    for (const { name, run } of cases) it(name, run)
  })
}

// Memory databases behave the same with every driver.
describe('the SQLite store in memory', () => {
  const { openInMemory: open } = opener('node:sqlite', FILES)
  for (const { name, run } of storeConformance({ name: 'in memory', open, rows: ROWS, size: 'quick' }))
    it(name, run)
})

// A program may pass its own database.
describe.each(DRIVERS)('the SQLite store in a database of %s that returns bigints', (driver) => {
  const open = () => Promise.resolve(sqliteStore({ database: openWithBigints(driver), fullText: true }))
  for (const { name, run } of storeConformance({ name: driver, open, rows: ROWS, size: 'quick' }))
    it(name, run)
})
