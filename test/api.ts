/**
 * Renders the published names of every entry with their declarations as reviewable text. `npm run api`
 * builds the package and writes `test/api.txt`; a test compares it.
 */

import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** A file of declarations. */
interface DeclarationFile {
  /** Statements that declare a name, without comments. */
  readonly declared: ReadonlyMap<string, string>
  /** Imported names, with their origins. */
  readonly imported: ReadonlyMap<string, Place>
  /** Re-exported names, with their origins. */
  readonly exported: ReadonlyMap<string, Place>
}

interface Place {
  readonly file: string
  readonly name: string
}

const COMMENT = /\/\*[^]*?\*\//g
const NAME =
  /^(?:export )?(?:declare )?(?:abstract )?(?:function\*?|const|let|class|interface|type|namespace) ([\w$]+)/
const LINK = /^(import|export) (?:type )?\{([^}]*)\}(?: from '(\.[^']*)')?;/
const STAR = /^export (?:type )?\* from '(\.[^']*)';/
const WORD = /[A-Za-z_$][\w$]*/g

/** Reports a package's built declarations. @throws Error when an entry has no declarations in its folder. */
export function apiReport(folder: string): string {
  const files = new Map<string, DeclarationFile>()
  const read = (file: string): DeclarationFile => {
    const known = files.get(file) ?? readDeclarations(file)
    files.set(file, known)
    return known
  }
  /** Where a name is declared; null when another package declares it. */
  const placeOf = (file: string, name: string): Place | null => {
    const { declared, imported, exported } = read(file)
    if (declared.has(name)) return { file, name }
    const link = exported.get(name) ?? imported.get(name)
    return link === undefined ? null : placeOf(link.file, link.name)
  }
  const reached = new Map<string, Set<string>>()
  const reach = ({ file, name }: Place): void => {
    const names = reached.get(file) ?? new Set()
    if (names.has(name)) return
    reached.set(file, names.add(name))
    const text = read(file).declared.get(name) ?? ''
    for (const [word] of text.matchAll(WORD)) {
      const position = placeOf(file, word)
      if (position !== null) reach(position)
    }
  }

  const entries = Object.entries(exportsOf(folder)).map(([entry, types]) => {
    const file = join(folder, types)
    const names = [...read(file).exported.keys(), ...publishedIn(read(file))].toSorted()
    for (const name of names) {
      const position = placeOf(file, name)
      if (position === null) throw new Error(`${entry} publishes ${name}, which is declared nowhere`)
      reach(position)
    }
    return `## colloquy${entry.slice(1)}\n\n${names.join('\n')}\n`
  })
  const declarations = [...reached].map(([file, names]): [string, string] => {
    const texts = [...read(file).declared].flatMap(([name, text]) => (names.has(name) ? [text] : []))
    return [relative(join(folder, 'dist'), file).replace(/\.d\.ts$/, ''), texts.join('\n')]
  })
  const sorted = declarations.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [
    '# What the package publishes: the names of each entry, then what they are, and what these name.\n',
    ...entries,
    ...sorted.map(([file, text]) => `### ${file}\n\n${text}\n`),
  ].join('\n')
}

/** Declaration files of the entries, by entry name. */
function exportsOf(folder: string): Record<string, string> {
  const { exports } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>
  }
  return Object.fromEntries(
    Object.entries(exports).flatMap(([name, entry]) =>
      typeof entry === 'string' ? [] : [[name, entry.types]],
    ),
  )
}

const publishedIn = ({ declared }: DeclarationFile): string[] =>
  [...declared].flatMap(([name, text]) => (text.startsWith('export ') ? [name] : []))

function readDeclarations(file: string): DeclarationFile {
  const declared = new Map<string, string>()
  const links = { import: new Map<string, Place>(), export: new Map<string, Place>() }
  const text = readFileSync(file, 'utf8')
    .replace(COMMENT, '')
    .replace(/^[ \t]*\n/gm, '')
  // Indented lines and closing brackets continue a statement.
  for (const statement of text.split(/\n(?=[a-z])/)) {
    const [, name] = NAME.exec(statement) ?? []
    const [, which, list = '', from] = LINK.exec(statement) ?? []
    const [, all] = STAR.exec(statement) ?? []
    // Overloads share a name.
    if (name !== undefined)
      declared.set(name, [declared.get(name), statement.trimEnd()].filter(Boolean).join('\n'))
    else if (which === 'import' || which === 'export') {
      for (const item of list.split(',').map((part) => part.trim().replace(/^type /, '')))
        if (item !== '') {
          const [there = '', here = there] = item.split(' as ')
          const position = { file: from === undefined ? file : targetOf(file, from), name: there }
          links[which].set(here, from === undefined ? (links.import.get(there) ?? position) : position)
        }
    } else if (all !== undefined) {
      const target = targetOf(file, all)
      const { exported, ...rest } = readDeclarations(target)
      for (const one of [...exported.keys(), ...publishedIn({ exported, ...rest })])
        links.export.set(one, { file: target, name: one })
    } else if (/^export (?!\{\};)/.test(statement))
      throw new Error(`${file} has what the report cannot read: ${statement.slice(0, 80)}`)
  }
  return { declared, imported: links.import, exported: links.export }
}

const targetOf = (file: string, from: string): string =>
  resolve(dirname(file), from).replace(/\.(?:ts|js)$/, '.d.ts')

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  writeFileSync(join(root, 'test/api.txt'), apiReport(root))
}
