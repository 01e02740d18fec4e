/**
 * Citations of the design, the interface and the laws in comments, laws and pages resolve, and published
 * files cite only published files.
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { INVENTORY } from './inventory.ts'

const ROOT = resolve(import.meta.dirname, '..')
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')
const filesIn = (folder: string, ending: RegExp): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name) && !/(?:^|\/)(?:node_modules|\.\w+)\//.test(name))
    .map((name) => `${folder}/${name}`)

/** The numbers of a page's headings: `3`, `2.1`. */
const sectionsOf = (page: string): Set<string> =>
  new Set([...read(page).matchAll(/^##+ (\d+(?:\.\d+)?)\b/gm)].map(([, number = '']) => number))

const [LAWS, DESIGN, INTERFACE] = ['properties/laws.md', 'docs/design.md', 'docs/interface.md'] as const
const laws = new Set(
  [...read(LAWS).matchAll(/^(?:- \*\*([A-Z]\d+)\*\*|## ([A-Z]),)/gm)].map((m) => m[1] ?? m[2] ?? ''),
)
const rules = new Set([...read(DESIGN).matchAll(/^- \*\*([DU]\d+)\*\*/gm)].map((match) => match[1] ?? ''))
const sections = { design: sectionsOf(DESIGN), interface: sectionsOf(INTERFACE) }

/** Joins comments of several lines, so that a citation is in one piece. */
const joinComments = (text: string): string => text.replaceAll(/\s*\n\s*(?:\*(?!\/)|\/\/)?\s*/g, ' ')

const LIST = String.raw`[A-Z]\d{0,2}(?:(?:, and|,| and| or| to) [A-Z]\d{0,2}(?![\w']))*(?!\w)`

/**
 * Citations of a text that do not resolve. `page` is the target of a bare "section 3"; `bare` says
 * whether D8 and U6 are citations.
 */
function dangling(
  text: string,
  { page, bare = true }: { page?: Set<string> | undefined; bare?: boolean } = {},
): string[] {
  const content = joinComments(text)
  const unresolved: string[] = []
  const check = (result: string, exists: boolean) => void (exists || unresolved.push(result))
  if (bare) for (const [rule] of content.matchAll(/\b[DU][1-9]\d?\b/g)) check(rule, rules.has(rule))
  for (const [result, list = ''] of content.matchAll(new RegExp(String.raw`\b[Ll]aws? (${LIST})`, 'g')))
    check(
      result,
      [...list.matchAll(/[A-Z]\d{0,2}/g)].every(([law]) => laws.has(law)),
    )
  for (const [result, pageName = '', number = ''] of content.matchAll(
    /\b(design|interface)(?:'s)? (?:section )?(\d+(?:\.\d+)?)/g,
  ))
    check(result, sections[pageName as 'design' | 'interface'].has(number))
  // "design 4" is ambiguous: write "design section 4".
  for (const [result] of content.matchAll(/\bdesign \d/g)) check(result, false)
  for (const [result, number = ''] of content.matchAll(
    /(?<!(?:design|interface) )\bsection (\d+(?:\.\d+)?)/g,
  ))
    check(result, page?.has(number) === true)
  for (const [path] of content.matchAll(/(?<![\w/.-])(?:docs\/[\w-]+|properties\/[\w-]+)\.md\b/g))
    check(path, existsSync(join(ROOT, path)))
  return unresolved
}

const sources = filesIn('src', /\.tsx?$/)
const tests = ['test', 'properties', 'bench']
  .flatMap((folder) => filesIn(folder, /\.ts$/))
  .filter((name) => name !== 'test/references.test.ts')
const pages = [...filesIn('docs', /\.md$/), LAWS, 'README.md', 'CHANGELOG.md', 'CONTRIBUTING.md']

/** Files about the inventory's cases, whose numbers resemble those of the design. */
const isAboutInventory = (file: string): boolean =>
  file.startsWith('test/inventory') || /\binventory\b/.test(read(file))

const collect = (files: readonly string[], find: (file: string) => readonly string[]): string[] =>
  files.flatMap((file) => find(file).map((matches) => `${file}: ${matches}`))

/** The files that a page links to. */
const linksOf = (file: string): string[] =>
  [...read(file).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link = '']) =>
    relative(ROOT, resolve(ROOT, dirname(file), link)),
  )

/** The repository's files that a page names. */
const pathsOf = (file: string): string[] =>
  [...read(file).matchAll(/`((?:src|test|docs|properties|bench|examples)\/[\w./-]*)`/g)].map(
    ([, path = '']) => path,
  )

/** The repository's files that a source names. */
const pathsNamedIn = (file: string): string[] =>
  [...joinComments(read(file)).matchAll(/(?<![\w/.'-])(?:docs|properties|test|bench|src)\/[\w./-]+/g)].map(
    ([path]) => path.replace(/\.$/, ''),
  )

describe('citations', () => {
  it('have rules and laws as targets, and more than 20 sources use them', () => {
    expect([...rules].filter((rule) => rule.startsWith('U'))).toHaveLength(11)
    for (let number = 1; number <= 30; number += 1) expect(rules).toContain(`D${number}`)
    expect(laws.size).toBeGreaterThan(80)
    expect([...read(LAWS).matchAll(/^- \*\*[A-Z]\d+\*\*/gm)], 'each number once').toHaveLength(
      [...laws].filter((law) => law.length > 1).length,
    )
    expect(sources.filter((file) => /\bdesign D\d/.test(joinComments(read(file)))).length).toBeGreaterThan(20)
  })

  it('are found by `dangling` if they do not resolve', () => {
    const invalid = [
      'design D99',
      'design section 12',
      'design 4',
      'interface 2.9',
      'interface section 4.4',
      '(U99)',
      'law R99',
      'laws V, R99 and M',
    ]
    for (const text of [...invalid, '(section 3)', 'see docs/nowhere.md', 'stamps them (design\n * D99)'])
      expect(dangling(text)).not.toEqual([])
    for (const text of [
      'design D8',
      'design section 3',
      'interface 2.2',
      '(U6)',
      'law R9',
      'laws R7 to R9',
      'laws V, M',
      'the law of words',
    ])
      expect(dangling(text)).toEqual([])
  })

  it('resolve in the sources', () => expect(collect(sources, (file) => dangling(read(file)))).toEqual([]))

  it('resolve in tests and properties', () =>
    expect(collect(tests, (file) => dangling(read(file), { bare: !isAboutInventory(file) }))).toEqual([]))

  it('resolve in the reasons of the inventory', () =>
    expect(
      INVENTORY.flatMap(({ id, why = '' }) =>
        dangling(why, { page: sections.design }).map((matches) => `${id}: ${matches}`),
      ),
    ).toEqual([]))

  it('resolve in the pages', () =>
    expect(
      collect(pages, (file) =>
        dangling(read(file), { page: file.startsWith('docs/') ? sectionsOf(file) : undefined }),
      ),
    ).toEqual([]))

  it('resolve in the laws, by number', () => {
    const numbers = [...read(LAWS).matchAll(/\b[A-Z]\d{1,2}\b/g)].map(([number]) => number)
    expect(numbers.filter((number) => !laws.has(number) && !rules.has(number))).toEqual([])
  })

  it('resolve in the pages as links and paths', () => {
    expect(
      collect(pages, (file) =>
        [...linksOf(file), ...pathsOf(file)].filter((path) => !existsSync(join(ROOT, path))),
      ),
    ).toEqual([])
  })

  it('resolve in the glossary for each name', () => {
    const rows = [
      ...read('docs/architecture.md').matchAll(/^\|.*\| +(?:`(\w+)`)? *\| `(src\/[\w./-]+)` *\|$/gm),
    ]
    expect(rows.length).toBeGreaterThan(40)
    const invalid = rows.filter(
      ([, name = '', file = '']) =>
        !existsSync(join(ROOT, file)) || !new RegExp(String.raw`\b${name}\b`).test(read(file)),
    )
    expect(invalid.map(([row]) => row)).toEqual([])
  })
})

const isInside = (path: string, entry: string): boolean => path === entry || path.startsWith(`${entry}/`)

describe('published files', () => {
  const { files } = JSON.parse(read('package.json')) as { files: readonly string[] }
  const ships = (path: string): boolean =>
    ['README.md', 'CHANGELOG.md', 'LICENSE', 'package.json', ...files].some((entry) =>
      isInside(path, entry),
    ) && !files.some((entry) => entry.startsWith('!') && isInside(path, entry.slice(1)))

  it('include the pages that comments cite', () =>
    expect([LAWS, DESIGN, INTERFACE].filter((page) => !ships(page))).toEqual([]))

  it('include every file that comments of src name', () =>
    expect(collect(sources, (file) => pathsNamedIn(file).filter((path) => !ships(path)))).toEqual([]))

  it('link only to published files, and mark other paths as paths of the repository', () => {
    for (const file of pages.filter(ships)) {
      expect(
        linksOf(file).filter((path) => !ships(path)),
        file,
      ).toEqual([])
      if (/`(?:src|test|bench)\/|`properties\/(?!laws)/.test(read(file)))
        expect(read(file), file).toMatch(/\brepository\b/)
    }
  })
})

it('no file names an issue or a file outside of the repository', () => {
  const forbidden =
    /\bissue (?:\d+|")|\bshared\/(?:design|review|reference)|\breference\/\w+\.md|\bpeers\.md/g
  const all = [...sources, ...tests, ...pages]
  expect(collect(all, (file) => [...read(file).matchAll(forbidden)].map(([matches]) => matches))).toEqual([])
})
