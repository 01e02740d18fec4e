/**
 * Generates the tables of kinds in docs/messages.md from the writers, and compares them with the page; `-u`
 * writes them.
 */

import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, it } from 'vitest'
import type { OpenPart } from '../src/event/shapes.ts'
import { GRAMMARS } from '../src/messages/grammars.ts'
import { readImage } from '../src/messages/files.ts'
import { isShared } from '../src/messages/reply-parts.ts'
import type { Kind } from '../src/messages/blocks.ts'
import { formOf } from '../src/messages/pieces.ts'
import type { Limits } from '../src/messages/limits.ts'
import { SAMPLES, type Sample } from './messages/user-parts.ts'

const ROOT = resolve(import.meta.dirname, '..')
const PAGE = readFileSync(join(ROOT, 'docs/messages.md'), 'utf8')

const LIMITS: readonly Limits[] = GRAMMARS.map(({ limits }) => limits)

/** The page's name for a part's form in a grammar. */
function nameOfForm(part: OpenPart, limits: Limits, { grammar, role }: Sample): string {
  const form = formOf(part, limits.parts)
  switch (form.as) {
    case 'text':
      return 'text'
    case 'name':
      return 'name'
    case 'image': {
      const image = readImage(form.url)
      return image !== null && limits.acceptsImage(image) ? 'image' : 'name'
    }
    case 'block': {
      if (!(form.user || (role === 'result' && form.result))) return 'name'
      if (form.item === true) return 'item'
      const { cache_control: _, ...plain } = part
      const same = grammar === limits.grammar && JSON.stringify(form.block) === JSON.stringify(plain)
      return same ? 'unchanged' : `\`${String(form.block['type'] ?? Object.keys(form.block)[0])}\``
    }
  }
}

/** Kinds of one grammar with the same cells share a row. */
const mergeRows = (rows: readonly (readonly string[])[]): readonly (readonly string[])[] =>
  [...Map.groupBy(rows, ([grammar, , ...cells]) => [grammar, ...cells].join('|')).values()].map((group) => {
    const [grammar = '', , ...cells] = group[0] ?? []
    return [grammar, group.map(([, kind]) => kind).join(', '), ...cells]
  })

function userRows(): readonly (readonly string[])[] {
  const kinds = Map.groupBy(SAMPLES, ({ grammar, kind }) => `${grammar} ${kind}`)
  return [...kinds.values()].map((samples) => {
    const cells = LIMITS.map((limits) =>
      [...new Set(samples.map((sample) => nameOfForm(sample.make('abcdabcd'), limits, sample)))].join(', '),
    )
    return [samples[0]?.grammar ?? '', `\`${samples[0]?.kind ?? ''}\``, ...cells]
  })
}

function cellsOf(kind: string, { in: placement, signed }: Kind): string[] {
  const fallback = isShared(kind) ? 'text' : 'nothing'
  const others =
    placement === 'about'
      ? 'nothing'
      : placement === 'part' || placement === 'words' || !isShared(kind)
        ? fallback
        : 'equivalent'
  const ownCell = {
    standard: 'fields',
    call: 'a call',
    part: 'unchanged',
    words: fallback,
    about: 'nothing; it is in `reply.metadata`',
  }[placement]
  return [ownCell, others, signed === undefined ? '' : `\`${signed}\``]
}

const replyRows = (): readonly (readonly string[])[] =>
  LIMITS.flatMap(({ grammar, table }) =>
    Object.entries(table)
      .filter(([, { side }]) => side !== 'user')
      .map(([kind, of]) => [grammar, `\`${kind}\``, ...cellsOf(kind, of)]),
  )

/** A table with aligned columns. */
function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, index) =>
    Math.max(3, cell.length, ...rows.map((row) => (row[index] ?? '').length)),
  )
  const lineOf = (cells: readonly string[]): string =>
    `| ${widths.map((width, index) => (cells[index] ?? '').padEnd(width)).join(' | ')} |`
  const rule = lineOf(widths.map((width) => '-'.repeat(width)))
  return [lineOf(head), rule, ...rows.map(lineOf)].join('\n')
}

it('docs/messages.md has the generated tables of kinds', async () => {
  const tables = [
    tableOf(['Grammar', 'Kinds', ...LIMITS.map(({ grammar }) => grammar)], mergeRows(userRows())),
    tableOf(
      ['Grammar', 'Kinds', 'Sent in this grammar', 'Sent in others', 'Signature'],
      mergeRows(replyRows()),
    ),
  ]
  const marked = /(?<=<!-- kinds -->\n)[^]*?(?=<!-- end of kinds -->)/g
  const page = PAGE.replaceAll(marked, () => `\n${tables.shift() ?? ''}\n\n`)
  expect(tables).toEqual([])
  await expect(page).toMatchFileSnapshot(join(ROOT, 'docs/messages.md'))
})
