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
  readonly imported: ReadonlyMap<string, Declaration>
  /** Re-exported names, with their origins. */
  readonly exported: ReadonlyMap<string, Declaration>
}

interface Declaration {
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
    const cached = files.get(file) ?? readDeclarations(file)
    files.set(file, cached)
    return cached
  }
  /** Finds the declaration of a name; null when another package declares it. */
  const declarationOf = (file: string, name: string): Declaration | null => {
    const { declared, imported, exported } = read(file)
    if (declared.has(name)) return { file, name }
    const link = exported.get(name) ?? imported.get(name)
    return link === undefined ? null : declarationOf(link.file, link.name)
  }
  const reachable = new Map<string, Set<string>>()
  const visit = ({ file, name }: Declaration): void => {
    const names = reachable.get(file) ?? new Set()
    if (names.has(name)) return
    reachable.set(file, names.add(name))
    const text = read(file).declared.get(name) ?? ''
    for (const [word] of text.matchAll(WORD)) {
      const declaration = declarationOf(file, word)
      if (declaration !== null) visit(declaration)
    }
  }

  const entries = Object.entries(exportsOf(folder)).map(([entry, types]) => {
    const file = join(folder, types)
    const names = [...read(file).exported.keys(), ...publishedIn(read(file))].toSorted()
    for (const name of names) {
      const declaration = declarationOf(file, name)
      if (declaration === null) throw new Error(`${entry} publishes ${name}, which is declared nowhere`)
      visit(declaration)
    }
    return `## colloquy${entry.slice(1)}\n\n${names.join('\n')}\n`
  })
  const declarations = [...reachable].map(([file, names]): [string, string] => {
    const texts = [...read(file).declared].flatMap(([name, text]) => (names.has(name) ? [text] : []))
    return [relative(join(folder, 'dist'), file).replace(/\.d\.ts$/, ''), texts.join('\n')]
  })
  const sorted = declarations.toSorted(([a], [b]) => (a < b ? -1 : 1))
  return [
    '# The published names of each entry, then their declarations and all declarations that these name.\n',
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
  const links = { import: new Map<string, Declaration>(), export: new Map<string, Declaration>() }
  const text = readFileSync(file, 'utf8')
    .replace(COMMENT, '')
    .replace(/^[ \t]*\n/gm, '')
  // Indented lines and closing brackets continue a statement.
  for (const statement of text.split(/\n(?=[a-z])/)) {
    const [, name] = NAME.exec(statement) ?? []
    const [, direction, list = '', from] = LINK.exec(statement) ?? []
    const [, starTarget] = STAR.exec(statement) ?? []
    // Overloads share a name.
    if (name !== undefined)
      declared.set(name, [declared.get(name), statement.trimEnd()].filter(Boolean).join('\n'))
    else if (direction === 'import' || direction === 'export') {
      for (const item of list.split(',').map((part) => part.trim().replace(/^type /, '')))
        if (item !== '') {
          const [source = '', local = source] = item.split(' as ')
          const declaration = { file: from === undefined ? file : targetOf(file, from), name: source }
          links[direction].set(
            local,
            from === undefined ? (links.import.get(source) ?? declaration) : declaration,
          )
        }
    } else if (starTarget !== undefined) {
      const target = targetOf(file, starTarget)
      const { exported, ...rest } = readDeclarations(target)
      for (const exportedName of [...exported.keys(), ...publishedIn({ exported, ...rest })])
        links.export.set(exportedName, { file: target, name: exportedName })
    } else if (/^export (?!\{\};)/.test(statement))
      throw new Error(`${file} has a statement that the report cannot read: ${statement.slice(0, 80)}`)
  }
  return { declared, imported: links.import, exported: links.export }
}

const targetOf = (file: string, from: string): string =>
  resolve(dirname(file), from).replace(/\.(?:ts|js)$/, '.d.ts')

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '..')
  writeFileSync(join(root, 'test/api.txt'), apiReport(root))
}
