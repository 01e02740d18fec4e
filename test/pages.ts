/** The pages and their code blocks, and a project that runs them like a user's own files. */

import { execFile } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { inject } from 'vitest'
import { entries } from '../src/build/library.ts'

export const ROOT = resolve(import.meta.dirname, '..')

/** Reads the README or a page of docs/, by its path in the repository. */
export const readPage = (path: string): string => readFileSync(join(ROOT, path), 'utf8')

export const PAGES: readonly string[] = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** A code block, and the heading above it. */
export interface Block {
  readonly heading: string
  readonly code: string
}

/** The blocks of a page in one language, in order. */
export function blocks(language: string, page: string): Block[] {
  return readPage(page)
    .split(/^#+ (?=.*\n\n)/m)
    .flatMap((section) => {
      const heading = section.split('\n', 1)[0] ?? ''
      const result = section.matchAll(new RegExp(`^\`\`\`${language}\n([^]*?)^\`\`\``, 'gm'))
      return [...result].map((match) => ({ heading, code: match[1] ?? '' }))
    })
}

/** The samples of all pages, each with a name and a file name. */
export const samplesOfPages = (): { readonly name: string; readonly file: string; readonly code: string }[] =>
  PAGES.flatMap((page) =>
    blocks('ts', page).map(({ heading, code }, index) => ({
      name: `${page}, ${heading}`,
      file: `${page.replaceAll('/', '-').replace(/\.md$/, '')}-${index}.ts`,
      code,
    })),
  )

/** Packages that users install next to this one. */
const PEERS = [
  '@types/node',
  '@types/ws',
  '@anthropic-ai/claude-agent-sdk',
  '@anthropic-ai/sdk',
  '@google/genai',
  'ai',
  'openai',
  'fast-check',
  'zod',
  'hono',
  '@ag-ui/core',
  '@hono/node-server',
  '@langchain/core',
  '@langchain/langgraph',
  '@langchain/langgraph-checkpoint',
  '@openai/agents-core',
  'ws',
]

/** Links a path of this repository into a folder's `node_modules`. */
export function link(folder: string, name: string, target = `node_modules/${name}`): void {
  mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true })
  symlinkSync(resolve(ROOT, target), join(folder, 'node_modules', name))
}

export function linkPeers(folder: string): void {
  for (const name of PEERS) link(folder, name)
}

/** A user's project. */
export interface Project {
  readonly folder: string
  /** Writes a file and returns its path. */
  readonly write: (name: string, text: string) => string
  readonly remove: () => void
}

/**
 * A project of modules with the package in `node_modules`. The package's entries point to the bundled sources
 * through a link.
 */
export function project(): Project {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-readme-'))
  const write = (name: string, text: string): string => {
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
    return file
  }
  const exports = Object.fromEntries(Array.from(entries(), ([name, path]) => [name, `./built/${path}.js`]))
  write('package.json', '{ "type": "module" }')
  const manifest = { name: 'colloquy', type: 'module', exports }
  write('node_modules/colloquy/package.json', JSON.stringify(manifest))
  link(folder, 'colloquy/built', inject('built'))
  linkPeers(folder)
  return { folder, write, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Environment of the provider clients, for a server at this address. */
export const clientsOf = (url: string): Record<string, string> => ({
  ANTHROPIC_API_KEY: 'none',
  ANTHROPIC_BASE_URL: url,
  OPENAI_API_KEY: 'none',
  GEMINI_API_KEY: 'none',
  OPENAI_BASE_URL: `${url}/v1`,
})

/**
 * Runs samples one after the other as modules of one process, and waits until it exits. Returns each
 * sample's standard error and thrown error; empty when all is well.
 * @throws Error if the process fails. Only work that continues after the last line of a sample can cause this.
 */
export async function runSamples(
  { folder, write }: Pick<Project, 'folder' | 'write'>,
  files: readonly string[],
  env: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<string[]> {
  const main = write('run-samples.js', RUN_SAMPLES)
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main, ...files], {
    cwd: folder,
    env,
    signal,
  })
  if (stderr !== '') throw new Error(stderr)
  return JSON.parse(stdout.split('\n').at(-1) ?? '') as string[]
}

const RUN_SAMPLES = `
  import { writeSync } from 'node:fs'
  import { inspect } from 'node:util'
  const files = process.argv.splice(2)
  const problems = []
  process.once('exit', () => writeSync(1, '\\n' + JSON.stringify(problems)))
  for (const [at, file] of files.entries()) {
    problems[at] = ''
    process.stderr.write = (text) => ((problems[at] += text), true)
    await import(file).catch((error) => (problems[at] += inspect(error)))
  }
`

/** The function that checked samples call. */
export const SAME = `
  import { inspect, isDeepStrictEqual } from 'node:util'
  export function $same(actual, expected) {
    if (!isDeepStrictEqual(actual, expected)) throw new Error(inspect(actual) + ' is not ' + inspect(expected))
  }
`

/** A line with an expression and its value, not a statement. */
export const SHOWN =
  /^(?!(?:const|let|import|export|for|if|else|return|await|yield|type)\b)([^/\s}].*?) \/\/ (.+)$/gm

/** Replaces each line that shows a value with a check. */
export const withChecks = (code: string): string =>
  `import { $same } from './same.js'\n${code.replaceAll(SHOWN, '$$same($1, $2)')}`
