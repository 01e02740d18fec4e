import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { listLaws, testsOf } from './law-tests.ts'

const OTHERS = ['laws.test.ts', 'regressions.test.ts']

it('every law has test files, and each of them exists', () => {
  expect(listLaws().length).toBeGreaterThan(100)
  for (const law of listLaws()) expect(testsOf(law).length).toBeGreaterThan(0)
  expect(() => testsOf('Z1')).toThrow('no law')
})

it('every test file that names a law in a title or a check is listed under that law', () => {
  const files = readdirSync(import.meta.dirname).filter(
    (file) => file.endsWith('.test.ts') && !OTHERS.includes(file),
  )
  const laws = new Set(listLaws())
  let count = 0
  for (const file of files) {
    const text = readFileSync(join(import.meta.dirname, file), 'utf8')
    for (const [, law = ''] of text.matchAll(/\b(?:describe|it|hold|same)\(\s*[`']([A-Z]\d+)\b/g)) {
      if (!laws.has(law)) continue
      expect(testsOf(law), law).toContain(`properties/${file}`)
      count += 1
    }
  }
  expect(count).toBeGreaterThan(20)
})
