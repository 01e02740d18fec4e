/** Walks the imports of src/ and fails on an arrow that runs the wrong way (design section 1). */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const SRC = resolve(import.meta.dirname, '../src')

/** What each folder may import beside itself. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  event: [],
  log: ['event'],
  view: ['event', 'log'],
  state: ['event', 'log', 'view'],
  messages: ['event', 'log', 'view', 'state'],
  store: ['event'],
  testing: ['event', 'log', 'view', 'state', 'messages', 'store'],
  cli: ['event', 'log', 'view', 'state', 'messages'],
}

/** What each folder may import from outside the project; `node:` stands for all of Node's own modules. */
const MAY_DEPEND: Readonly<Record<string, readonly string[]>> = {
  event: ['zod'],
  state: ['immer'],
  'store/sqlite': ['node:sqlite'],
  'store/postgres': ['pg'],
  testing: ['fast-check'],
  cli: ['node:'],
}

interface Import {
  readonly file: string
  readonly target: string
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
const imports: Import[] = files.flatMap((file) => {
  const text = readFileSync(join(SRC, file), 'utf8')
  const found = text.matchAll(
    /^(?:import|export)\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\w+|\{[^}]*\})\s+from\s+['"]([^'"]+)['"]|\bimport\s*\(\s*['"]([^'"]+)['"]/gm,
  )
  return [...found].map((match) => ({ file, target: (match[1] ?? match[2]) as string }))
})

const folderOf = (path: string): string => (path.includes('/') ? (path.split('/')[0] as string) : '.')

describe('imports run one way', () => {
  it('finds the imports', () => {
    expect(files.length).toBeGreaterThan(30)
    expect(imports.length).toBeGreaterThan(100)
    for (const folder of new Set(files.map(folderOf))) {
      if (folder !== '.') expect(Object.keys(MAY_IMPORT)).toContain(folder)
    }
  })

  it('between folders, along event <- log <- view <- state <- messages <- cli', () => {
    const wrong = imports.flatMap(({ file, target }) => {
      if (!target.startsWith('.')) return []
      const from = folderOf(file)
      const to = folderOf(relative(SRC, resolve(SRC, dirname(file), target)))
      // The command uses the library as its users do, by the one public file.
      const fine =
        from === '.' || from === to || (from === 'cli' && to === '.') || (MAY_IMPORT[from] ?? []).includes(to)
      return fine ? [] : [`${file} imports ${target}`]
    })
    expect(wrong).toEqual([])
  })

  it('from outside, only what the folder is given', () => {
    const wrong = imports.flatMap(({ file, target }) => {
      if (target.startsWith('.')) return []
      const given = Object.entries(MAY_DEPEND).flatMap(([folder, names]) =>
        file.startsWith(`${folder}/`) ? names : [],
      )
      const fine = given.some((name) => target === name || (name.endsWith(':') && target.startsWith(name)))
      return fine ? [] : [`${file} imports ${target}`]
    })
    expect(wrong).toEqual([])
  })

  it('zod is reached from files named schema.ts only (design D4)', () => {
    const wrong = imports.filter(({ file, target }) => target === 'zod' && !/(^|[/-])schema\.ts$/.test(file))
    expect(wrong).toEqual([])
  })
})
