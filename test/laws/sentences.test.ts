/** Programs print laws as `properties/laws.md` words them. */

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

it('COLLOQUY_UPDATE=1 writes them anew', () => {
  if (process.env['COLLOQUY_UPDATE'] === undefined) return
  const rows = Object.entries(sentences).map(([law, text]) => `  ${law}: ${JSON.stringify(text)},\n`)
  const file = readFileSync(FILE, 'utf8')
  const start = file.indexOf('= {\n') + 4
  writeFileSync(FILE, file.slice(0, start) + rows.join('') + file.slice(file.indexOf('\n}', start - 1) + 1))
})

it('are those of the page', () => {
  expect(Object.keys(sentences).length).toBeGreaterThan(100)
  expect(LAWS).toEqual(sentences)
  expect(sentenceOf('R2')).toBe(sentences['R2'])
  expect(sentenceOf('toString')).toBe(null)
})
