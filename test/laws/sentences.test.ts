/** Compares the sentences of laws in src with `properties/laws.md`. */

import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, it } from 'vitest'
import { LAWS, sentenceOf } from '../../src/laws/sentences.ts'

const PAGE = resolve(import.meta.dirname, '../../properties/laws.md')
const FILE = resolve(import.meta.dirname, '../../src/laws/sentences.ts')

const sentences = Object.fromEntries(
  [...readFileSync(PAGE, 'utf8').matchAll(/^- \*\*([A-Z]\d+)\*\* ((?:.*\n)(?:  .*\n)*)/gm)].map(
    ([, law = '', text = '']) => [law, text.trim().replaceAll(/\s*\n\s*/g, ' ')],
  ),
)

it('COLLOQUY_UPDATE=1 rewrites the sentences in src', () => {
  if (process.env['COLLOQUY_UPDATE'] === undefined) return
  const rows = Object.entries(sentences).map(([law, text]) => `  ${law}: ${JSON.stringify(text)},\n`)
  const file = readFileSync(FILE, 'utf8')
  const start = file.indexOf('= {\n') + 4
  writeFileSync(FILE, file.slice(0, start) + rows.join('') + file.slice(file.indexOf('\n}', start - 1) + 1))
})

it('the sentences in src equal those of properties/laws.md', () => {
  expect(Object.keys(sentences).length).toBeGreaterThan(100)
  expect(LAWS).toEqual(sentences)
  expect(sentenceOf('R2')).toBe(sentences['R2'])
  expect(sentenceOf('toString')).toBe(null)
})
