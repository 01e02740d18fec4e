/** Every law of the page has tests, which a night runs. */

import { expect, it } from 'vitest'
import { listLaws, testsOf } from './law-tests.ts'

it('every law has tests that are there', () => {
  expect(listLaws().length).toBeGreaterThan(100)
  for (const law of listLaws()) expect(testsOf(law).length).toBeGreaterThan(0)
  expect(() => testsOf('Z1')).toThrow('no law')
})
