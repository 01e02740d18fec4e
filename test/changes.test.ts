/**
 * Checks the architecture page: every path on it exists, and the compiler reports the listed files for
 * each kind of change.
 */

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
const PAGE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')

/** The first edit of a change: a file of src, the text to find, and its replacement. */
type Edit = readonly [file: string, find: string, replace: string]

/** Edits by the first words of a table row. A change that does not start with a type has none. */
const EDITS: Readonly<Record<string, readonly Edit[]>> = {
  'a kind of event': [
    [
      'event/kinds.ts',
      '} as const satisfies Readonly<Record<string, KindFacts>>',
      "  GoalEvent: { code: 20, defaultSource: 'agent', unit: 'message', searchable: true, stored: true, movesStatus: true },\n} as const satisfies Readonly<Record<string, KindFacts>>",
    ],
    [
      'event/types.ts',
      'export type Event =\n',
      "export interface GoalEvent extends EventBase {\n  readonly kind: 'GoalEvent'\n  readonly source?: Source\n  readonly goal: string\n}\n\nexport type Event =\n  | GoalEvent\n",
    ],
  ],
  'a status, or a rule for a status': [
    ['state/status.ts', "  | 'deleting'\n", "  | 'deleting'\n  | 'asleep'\n"],
  ],
  'a filter of events': [
    [
      'store/kit/query/event-query.ts',
      'export interface CheckedEventFilter {\n',
      'export interface CheckedEventFilter {\n  readonly tool: string | null\n',
    ],
  ],
  'a store': [['cli/db/address.ts', "'sqlite' | 'postgres'", "'sqlite' | 'postgres' | 'mysql'"]],
  'a role or an observation': [
    [
      'event/shapes.ts',
      "'user' | 'system' | 'assistant' | 'tool'",
      "'user' | 'system' | 'assistant' | 'tool' | 'developer'",
    ],
  ],
  'a redaction pattern': [
    [
      'context/redaction/known-forms.ts',
      'const FORMS = [\n',
      "const FORMS = [\n  { name: 'gitlab', pattern: /glpat-/g },\n",
    ],
  ],
  'a limit of stuck detection': [
    [
      'context/stuck.ts',
      'export interface StuckThresholds {\n',
      'export interface StuckThresholds {\n  readonly silence: number\n',
    ],
  ],
}

interface Row {
  readonly change: string
  /** All files to change, and those that the compiler reports. */
  readonly files: readonly string[]
  readonly reported: readonly string[]
}

/** Paths in code spans, without any name after them. */
const pathsIn = (text: string): string[] =>
  Array.from(
    text.matchAll(/`((?:src|test|properties|docs|bench|examples)\/[\w./-]+)`/g),
    (match) => match[1] as string,
  )

const ROWS: readonly Row[] = (/^## To add$([^]*?)^## /m.exec(PAGE)?.[1] ?? '')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (?:To add|-)/.test(line))
  .map((line) => {
    const [, change = '', reported = '', otherFiles = ''] = line.split('|')
    return { change: change.trim(), files: pathsIn(reported + otherFiles), reported: pathsIn(reported) }
  })

const KIND = 'a kind of event'

/** The compiler's errors after all edits, by file of `src`. */
const errors = new Map<string, string[]>()
let folder = ''

/** Adds the compiler's errors in a project of the folder, in the files that only this project checks. */
function compile(project: string, isChecked: (file: string) => boolean): void {
  const args = ['--noEmit', '--singleThreaded', '--pretty', 'false', '-p', join(folder, project)]
  const tsc = join(ROOT, 'node_modules/.bin/tsc')
  const { stdout, error } = spawnSync(tsc, args, { encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  if (error !== undefined) throw error
  // The following lines of an error are indented.
  for (const message of stdout.split(/\n(?! )/).filter((line) => line !== '')) {
    const [, path = ''] = /^([^\s(][^(]*)\(\d+,\d+\): error /.exec(message) ?? []
    const file = relative(folder, resolve(ROOT, path))
    if (isChecked(file)) errors.set(file, [...(errors.get(file) ?? []), message])
  }
}

const isOfInspector = (file: string): boolean => file.startsWith('src/inspector/page/')

beforeAll(() => {
  mkdirSync(join(ROOT, 'node_modules/.cache'), { recursive: true })
  folder = mkdtempSync(join(ROOT, 'node_modules/.cache/colloquy-changes-'))
  const config = { extends: join(ROOT, 'tsconfig.json'), exclude: ['src/inspector/page'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ ...config, include: ['src'] }))
  const page = { extends: join(ROOT, 'src/inspector/page/tsconfig.json'), include: ['src/inspector/page'] }
  writeFileSync(join(folder, 'page.json'), JSON.stringify({ ...page, exclude: [] }))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  cpSync(join(ROOT, 'src'), join(folder, 'src'), { recursive: true })
  for (const [file, find, replace] of Object.values(EDITS).flat()) {
    const path = join(folder, 'src', file)
    const text = readFileSync(path, 'utf8')
    expect(text.split(find), `${file} must contain once: ${find}`).toHaveLength(2)
    writeFileSync(
      path,
      text.replace(find, () => replace),
    )
  }
  // The inspector's page uses browser types, which differ from Node's.
  compile('tsconfig.json', (file) => !isOfInspector(file))
  compile('page.json', isOfInspector)
}, 600_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('docs/architecture.md', () => {
  it('names only existing paths', () => {
    const paths = pathsIn(PAGE)
    expect(paths.length).toBeGreaterThan(60)
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
  })

  it('has a row for each of twelve kinds of change', () => {
    expect(ROWS.map(({ change }) => change)).toEqual([
      'a kind of event',
      'a status, or a rule for a status',
      'a grammar',
      'a page limit',
      'a filter of events',
      'a store',
      'a role or an observation',
      'a redaction pattern',
      'an endpoint',
      'an option',
      'a column',
      'a limit of stuck detection',
    ])
    for (const { change, files } of ROWS) expect([change, files.length > 0]).toEqual([change, true])
    expect(Object.keys(EDITS).filter((change) => !ROWS.some((row) => row.change === change))).toEqual([])
  })

  it('lists each file that the compiler reports in one row only, except for a kind', () => {
    const reported = ROWS.filter(({ change }) => change !== KIND).flatMap((row) => row.reported)
    expect(reported.filter((file, index) => reported.indexOf(file) !== index)).toEqual([])
  })

  it('lists exactly the files that the compiler reports', () => {
    const reported = new Set(ROWS.flatMap((row) => row.reported))
    expect([...errors.keys()].toSorted()).toEqual([...reported].toSorted())
    // A change without a type edit causes no compiler error.
    for (const row of ROWS) expect(row.reported.length > 0).toBe(EDITS[row.change] !== undefined)
  })

  it('lists the files that a new kind affects, and those with other errors, in their rows', () => {
    const [kind = [], others = []] = [true, false].map((isKind) =>
      ROWS.filter(({ change }) => (change === KIND) === isKind).flatMap((row) => row.reported),
    )
    const [filesOfKind, otherFiles] = [new Set(kind), new Set(others)]
    for (const [file, messages] of errors) {
      // The error of an incomplete `switch` in erase.ts names no type.
      const ofKind = messages.filter((message) => /GoalEvent|'goal'|event\/erase\.ts.*TS2366/.test(message))
      expect([file, filesOfKind.has(file)]).toEqual([file, ofKind.length > 0])
      expect([file, otherFiles.has(file)]).toEqual([file, ofKind.length < messages.length])
    }
  })
})
