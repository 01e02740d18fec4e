/** Compares docs/comparison.md and its charts with the figures of their run. */

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import { filesOf, readFigures } from '../bench/peers/page.ts'

const ROOT = resolve(import.meta.dirname, '..')

/** Removes the alignment of table columns. */
const plain = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-{2,}/g, '---')

it('the comparison page and its charts show the measured figures', () => {
  const files = Object.entries(filesOf(readFigures()))
  for (const [path, content] of files)
    expect(plain(readFileSync(join(ROOT, path), 'utf8')) === plain(content), path).toBe(true)
  expect(files.length).toBeGreaterThan(2)
})
