/** Checks the imports of src/: direction (design section 1), cycles and number of modules. */

import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'

const SRC = resolve(import.meta.dirname, '../src')

/** Folders that each folder may import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  build: [],
  event: [],
  log: ['event'],
  view: ['event', 'log'],
  state: ['event', 'log', 'view'],
  messages: ['event', 'log', 'view', 'state'],
  context: ['event', 'log', 'view', 'state', 'messages', 'store'],
  laws: ['event', 'log', 'view', 'state', 'messages', 'context'],
  explain: ['event', 'log', 'view', 'state', 'messages', 'context', 'laws'],
  store: ['event'],
  conversation: ['event', 'log', 'view', 'state', 'messages', 'store'],
  steps: ['event', 'log', 'state', 'messages', 'conversation'],
  sessions: ['event', 'state', 'messages'],
  inspector: ['event', 'log', 'view', 'state', 'messages', 'context', 'laws', 'explain'],
  adapters: ['event', 'state', 'messages', 'store', 'conversation', 'sessions'],
  testing: ['event', 'log', 'view', 'state', 'messages', 'context', 'store', 'laws'],
  service: ['event', 'log', 'view', 'state', 'messages', 'context', 'store', 'conversation'],
  cli: [],
}

/** Packages that each folder may import; `node:` means all of Node's modules. */
const MAY_DEPEND: Readonly<Record<string, readonly string[]>> = {
  event: ['@noble/hashes/sha2.js', '@noble/hashes/utils.js', 'zod'],
  'context/redaction': ['@noble/hashes/hmac.js', '@noble/hashes/sha2.js', '@noble/hashes/utils.js'],
  conversation: ['ulid'],
  'conversation/shell': ['node:child_process', 'node:os'],
  store: ['eventemitter3'],
  'store/sqlite': ['node:sqlite', 'node:fs'],
  'store/postgres': ['pg'],
  adapters: [
    '@ag-ui/core',
    '@anthropic-ai/claude-agent-sdk',
    '@langchain/core',
    '@langchain/langgraph-checkpoint',
    '@noble/hashes',
    '@openai/agents-core',
    'lru-cache',
  ],
  testing: ['fast-check'],
  'testing/node': ['node:'],
  sessions: ['immer'],
  service: ['fflate', 'hono', 'lru-cache', 'zod', '@opentelemetry/api'],
  'service/node': ['ws', '@hono/node-server', 'node:'],
  // Builds the inspector's page, and is not in the package.
  build: ['rolldown', 'node:'],
  'inspector/page': ['preact'],
  cli: ['node:'],
  'cli/input': ['fflate'],
  'cli/serve': ['zod'],
}

/** Core entries, which the command uses like any user. */
const CORE_ENTRIES: readonly string[] = [
  'event/index.ts',
  'state/index.ts',
  'state/snapshot/index.ts',
  'messages/index.ts',
  'sessions/index.ts',
  'inspector/index.ts',
  'context/index.ts',
  'context/redaction/index.ts',
  'laws/index.ts',
  'explain/index.ts',
  'conversation/index.ts',
  'conversation/deciders.ts',
  'store/kit/index.ts',
]

/** Other entry points that the command may load, and only on demand. */
const MAY_LOAD: readonly string[] = [
  'store/sqlite/index.ts',
  'store/postgres/index.ts',
  'service/index.ts',
  'service/node/index.ts',
]

interface Import {
  readonly file: string
  readonly target: string
  /** Whether it is a dynamic import. */
  readonly lazy: boolean
}

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
const imports: Import[] = files.flatMap((file) => {
  const text = readFileSync(join(SRC, file), 'utf8')
  const result = text.matchAll(
    /^(?:import|export)\s+(?:type\s+)?(?:\*(?:\s+as\s+\w+)?|\w+|\{[^}]*\})\s+from\s+['"]([^'"]+)['"]|\bimport\s*\(\s*['"]([^'"]+)['"]/gm,
  )
  return [...result].map((match) => ({
    file,
    target: (match[1] ?? match[2]) as string,
    lazy: match[1] === undefined,
  }))
})

const pathOf = ({ file, target }: Import): string => relative(SRC, resolve(SRC, dirname(file), target))

const folderOf = (path: string): string => (path.includes('/') ? (path.split('/')[0] as string) : '.')

describe('imports run one way', () => {
  it('finds the imports', () => {
    expect(files.length).toBeGreaterThan(30)
    expect(imports.length).toBeGreaterThan(100)
    for (const folder of new Set(files.map(folderOf))) {
      if (folder !== '.') expect(Object.keys(MAY_IMPORT)).toContain(folder)
    }
  })

  it('between folders, along event <- log <- view <- state <- messages', () => {
    const wrong = imports.flatMap((one) => {
      const { file, target, lazy } = one
      if (!target.startsWith('.')) return []
      const from = folderOf(file)
      const to = folderOf(pathOf(one))
      // The command uses the library through its entry points, like its users.
      const open =
        from === 'cli' &&
        (to === '.' || CORE_ENTRIES.includes(pathOf(one)) || (lazy && MAY_LOAD.includes(pathOf(one))))
      const fine = from === '.' || from === to || open || (MAY_IMPORT[from] ?? []).includes(to)
      return fine ? [] : [`${file} imports ${target}`]
    })
    expect(wrong).toEqual([])
  })

  it('the command loads each database, and the service, when it is asked for', () => {
    const loaded = imports.filter((one) => one.file.startsWith('cli/') && MAY_LOAD.includes(pathOf(one)))
    expect([...new Set(loaded.map(pathOf))].toSorted()).toEqual(MAY_LOAD.toSorted())
  })

  it('between the faces of the service, never: each imports what is shared', () => {
    const faces = ['agent-server', 'control-plane', 'live', 'settings', 'webhooks', 'workspace']
    const faceOf = (path: string): string | undefined =>
      faces.find((face) => path.startsWith(`service/${face}/`))
    const wrong = imports.flatMap((one) => {
      const from = faceOf(one.file)
      const to = one.target.startsWith('.') ? faceOf(pathOf(one)) : undefined
      return from === undefined || to === undefined || from === to
        ? []
        : [`${one.file} imports ${one.target}`]
    })
    expect(wrong).toEqual([])
  })

  it('in the store, from the adapters to the kit and from the kit to the contract', () => {
    const order = ['contract', 'kit', 'memory']
    const rankOf = (path: string): number =>
      path.startsWith('store/') ? order.indexOf(path.split('/')[1] as string) : -1
    const wrong = imports.flatMap((one) => {
      if (!one.target.startsWith('.')) return []
      const [from, to] = [rankOf(one.file), rankOf(pathOf(one))]
      return from < 0 || to < 0 || from >= to ? [] : [`${one.file} imports ${one.target}`]
    })
    expect(wrong).toEqual([])
  })

  it('into an entry of its own, which the core must do without, from nowhere but the command', () => {
    const entries = [
      'adapters/',
      'conversation/shell/',
      'store/sqlite/',
      'store/postgres/',
      'testing/',
      'service/node/',
    ]
    const wrong = imports.flatMap(({ file, target }) => {
      const to = target.startsWith('.') ? relative(SRC, resolve(SRC, dirname(file), target)) : ''
      const entry = entries.find((folder) => to.startsWith(folder))
      const fine = entry === undefined || file.startsWith(entry) || file.startsWith('cli/')
      return fine ? [] : [`${file} imports ${target}`]
    })
    expect(wrong).toEqual([])
  })

  it('from outside, only what the folder is given', () => {
    const wrong = imports.flatMap(({ file, target }) => {
      if (target.startsWith('.')) return []
      const input = Object.entries(MAY_DEPEND).flatMap(([folder, names]) =>
        file.startsWith(`${folder}/`) ? names : [],
      )
      const fine = input.some(
        (name) => target === name || target.startsWith(name.endsWith(':') ? name : `${name}/`),
      )
      return fine ? [] : [`${file} imports ${target}`]
    })
    expect(wrong).toEqual([])
  })

  it('zod is reached from files named schema.ts only (design D4)', () => {
    const wrong = imports.filter(({ file, target }) => target === 'zod' && !/(^|[/-])schema\.ts$/.test(file))
    expect(wrong).toEqual([])
  })
})

/** Maxima that may only fall. The goals: 560 files, 75,000 lines, 120 modules with one importer, no cycle. */
const MAXIMA = { files: 481, lines: 90_054, singleImporter: 108, cycles: 0 }

describe('the size of src', () => {
  const known = new Set(files)
  const targets = new Map(
    files.map((file) => [
      file,
      new Set(imports.filter((one) => one.file === file && known.has(pathOf(one))).map(pathOf)),
    ]),
  )

  it(`has at most ${MAXIMA.files} files and ${MAXIMA.lines} lines`, () => {
    expect(files.length).toBeLessThanOrEqual(MAXIMA.files)
    const lines = files.map((file) => readFileSync(join(SRC, file), 'utf8').split('\n').length - 1)
    expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(MAXIMA.lines)
  })

  it(`has at most ${MAXIMA.singleImporter} modules with one importer`, () => {
    const importers = new Map(files.map((file): [string, string[]] => [file, []]))
    for (const [file, imported] of targets) for (const one of imported) importers.get(one)?.push(file)
    const single = [...importers].filter(([, { length }]) => length === 1)
    const shown = single.map(([file, [importer]]) => `${file} <- ${importer}`).join('\n')
    expect(single.length, shown).toBeLessThanOrEqual(MAXIMA.singleImporter)
  })

  it('has no cycle of imports, types included', () => {
    const cycles = cyclesIn(targets).map((cycle) => cycle.join(' -> '))
    expect(cycles.length, cycles.join('\n')).toBeLessThanOrEqual(MAXIMA.cycles)
  })

  it('notices a cycle', () => {
    const graph = new Map([
      ['a', new Set(['b'])],
      ['b', new Set(['c'])],
      ['c', new Set(['b'])],
    ])
    expect(cyclesIn(graph)).toEqual([['b', 'c']])
  })
})

/** Strongly connected components with more than one node. O(nodes + edges). */
function cyclesIn(graph: ReadonlyMap<string, ReadonlySet<string>>): string[][] {
  const [indices, lowest] = [new Map<string, number>(), new Map<string, number>()]
  const stack: string[] = []
  const cycles: string[][] = []
  const visit = (node: string): number => {
    const index = indices.size
    indices.set(node, index)
    lowest.set(node, index)
    stack.push(node)
    for (const target of graph.get(node) ?? []) {
      const reached = indices.has(target)
        ? stack.includes(target)
          ? (indices.get(target) ?? index)
          : index
        : visit(target)
      lowest.set(node, Math.min(lowest.get(node) ?? index, reached))
    }
    if (lowest.get(node) === index) {
      const component = stack.splice(stack.indexOf(node))
      if (component.length > 1) cycles.push(component)
    }
    return lowest.get(node) ?? index
  }
  for (const node of graph.keys()) if (!indices.has(node)) visit(node)
  return cycles
}
