/** Checks the pages: commands parse, links lead to headings, and lists match the code. */

import { readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parseRequest } from '../src/cli/parse-arguments.ts'
import { EVENT_KINDS } from '../src/event/kinds.ts'
import { ColloquyError, type ErrorCode } from '../src/index.ts'
import { STATUSES } from '../src/state/index.ts'
import { toProblem } from '../src/service/http/problem.ts'
import { llmsText } from '../docs/site/llms.ts'
import { blocks, PAGES, readPage, ROOT } from './pages.ts'

/** The command's calls, without comments and surrounding text. */
const calls = PAGES.flatMap((page) => [
  ...blocks('sh', page).flatMap(({ code }) => code.split('\n')),
  ...[...readPage(page).matchAll(/`(npx colloquy \w+ [^`]*)`/g)].map((match) => match[1] ?? ''),
]).flatMap((line) => /^(?:[A-Z_]+=\S+ )*(?:npx )?colloquy ([^#>|]*)/.exec(line)?.[1]?.trim() ?? [])

describe('commands on the pages', () => {
  it('include demo and more than 40 calls', () => {
    expect(calls).toContain('demo')
    expect(calls.length).toBeGreaterThan(40)
  })

  it.each([...new Set(calls)])('can be parsed: colloquy %s', (line) => {
    // An ellipsis on its own is a placeholder.
    const argv = line
      .replace(/ …( |$)/, ' --db my.db --conversation ID$1')
      .split(/\s+/)
      .map((word) => word.replaceAll("'", ''))
    expect(parseRequest(argv).command).toBe(argv.includes('--help') ? 'help' : argv[0])
  })
})

it('docs/service.md lists the HTTP status of each error', () => {
  const rows = [...readPage('docs/service.md').matchAll(/^\| (\d+) +\| (.*) \|$/gm)]
  const report = rows.flatMap(([, status = '', codes = '']) =>
    [...codes.matchAll(/`(\w+)`/g)].map((match) => [match[1] ?? '', status] as const),
  )
  const source = readFileSync(join(ROOT, 'src/event/errors.ts'), 'utf8')
  const codes = [...source.matchAll(/^ {2}\| '(\w+)'$/gm)].map((match) => match[1] as ErrorCode)
  const actual = codes.map((code) => [
    code,
    String(toProblem(new ColloquyError(code, ''), {})?.status ?? 500),
  ])
  expect(codes.length).toBeGreaterThan(20)
  expect(report.toSorted()).toEqual(actual.toSorted())
})

it('docs/conversations.md lists all statuses', () => {
  const list = /^The status is ([^.]*)\./m.exec(readPage('docs/conversations.md'))?.[1] ?? ''
  expect([...list.matchAll(/`(\w+)`/g)].map((match) => match[1])).toEqual([...STATUSES])
})

it('docs/events.md lists all kinds of events', () => {
  const rows = [...readPage('docs/events.md').matchAll(/^\| (`.*?) +\|/gm)].map((match) => match[1] ?? '')
  const names = rows.flatMap((row) => [...row.matchAll(/`(\w+)`/g)].map((match) => match[1]))
  expect(names.toSorted()).toEqual(EVENT_KINDS.toSorted())
})

/** The anchors of a page's headings. */
const anchorsOf = (page: string): Set<string> =>
  new Set(
    [...readPage(page).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) =>
      text
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )

it.each(PAGES)('%s links only to existing headings', (page) => {
  const links = [...readPage(page).matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)]
  const wrong = links.filter(([, path = '', anchor = '']) => {
    const target = path === '' ? page : posix.join(posix.dirname(page), path)
    return !anchorsOf(target).has(anchor)
  })
  expect(wrong.map(([link]) => link)).toEqual([])
})

it('docs/README.md links to every page', () => {
  const linked = [...readPage('docs/README.md').matchAll(/\]\(([\w-]+\.md)\)/g)].map(
    ([, path]) => `docs/${path}`,
  )
  expect(
    PAGES.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md' && !linked.includes(page)),
  ).toEqual([])
})

it('README.md is shorter than 140 lines', () => {
  expect(readPage('README.md').split('\n').length - 1).toBeLessThan(140)
})

it('docs/llms.txt has each description to its end', () => {
  const entries = llmsText()
    .split('\n')
    .filter((line) => line.startsWith('- '))
  expect(entries.filter((line) => !line.endsWith('.'))).toEqual([])
})

it('docs/llms.txt is what `npm run docs:llms` writes', () => {
  expect(readFileSync(join(ROOT, 'docs/llms.txt'), 'utf8')).toBe(llmsText())
})
