/**
 * Bundles the sources, and removes declarations of `tsc` that no entry needs. Entries share chunks, so an
 * import opens few files.
 */

import { createHash } from 'node:crypto'
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { deflateRawSync } from 'node:zlib'
import { type OutputOptions, rolldown } from 'rolldown'

const PAGE_FOLDER = resolve(import.meta.dirname, '../inspector/page')

const PROGRAM_START = `(async () => {
  const text = document.getElementById('program').textContent
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))
  const script = document.createElement('script')
  script.src = URL.createObjectURL(new Blob([await new Response(stream).text()], { type: 'text/javascript' }))
  document.body.append(script)
})().catch((error) => { document.getElementById('page').textContent = 'The inspector does not start here: ' + error.message })`

const NOTICE =
  '<!-- With Preact (c) Jason Miller, Immer (c) Michel Weststrate, zod (c) Colin McDonnell; MIT License, as Colloquy itself. -->'

export async function buildInspector(): Promise<string> {
  const bundle = await rolldown({
    input: join(PAGE_FOLDER, 'main.tsx'),
    platform: 'browser',
    resolve: { conditionNames: ['browser', 'import', 'default'] },
    transform: {
      jsx: { runtime: 'automatic', importSource: 'preact' },
      define: { 'process.env.NODE_ENV': '"production"' },
    },
    logLevel: 'silent',
  })
  const { output } = await bundle.generate({ format: 'iife', minify: true })
  await bundle.close()
  const [{ code }] = output
  const style = minified(readFileSync(join(PAGE_FOLDER, 'style.css'), 'utf8'))
  const program = deflateRawSync(code, { level: 9 }).toString('base64')
  return readFileSync(join(PAGE_FOLDER, 'template.html'), 'utf8')
    .replace('/*policy*/', () => policyOf(style))
    .replace(/<style>[^]*?<\/style>/, () => `<style>${style}</style>`)
    .replace('<noscript>', () => `${NOTICE}\n    <noscript>`)
    .replace(
      /<script>[^]*?<\/script>/,
      () =>
        `<script type="text/plain" id="program">${program}</script>\n    <script>${PROGRAM_START}</script>`,
    )
}

function policyOf(style: string): string {
  return [
    "default-src 'none'",
    `script-src '${integrityOf(PROGRAM_START)}' 'strict-dynamic'`,
    `style-src '${integrityOf(style)}'`,
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
}

const integrityOf = (text: string): string => `sha256-${createHash('sha256').update(text).digest('base64')}`

const minified = (css: string): string =>
  css
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/ ?([{};,]) ?/g, '$1')
    .trim()

export async function writeInspector(file: string): Promise<void> {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, await buildInspector())
}

const ROOT = resolve(import.meta.dirname, '../..')

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest

/** Returns the path of each entry, below `src` and without extension, by its published name. */
export const entries = (): Map<string, string> =>
  new Map(
    Object.entries(manifest.exports).flatMap(([name, entry]) =>
      typeof entry === 'string' ? [] : [[name, entry.default.replace(/^\.\/dist\/(.*)\.js$/, '$1')] as const],
    ),
  )

interface BundleOptions {
  readonly more?: Readonly<Record<string, string>>
  readonly external: readonly (string | RegExp)[]
  readonly output?: OutputOptions
}

export async function bundleLibrary(folder: string, options: BundleOptions): Promise<void> {
  const { more = {}, external, output = {} } = options
  const paths = ['cli/main', ...entries().values()]
  const input = { ...Object.fromEntries(paths.map((path) => [path, join(ROOT, `src/${path}.ts`)])), ...more }
  // The names of the source files would be a part of the package's size.
  const settings = {
    platform: 'node',
    logLevel: 'silent',
    experimental: { attachDebugInfo: 'none' },
  } as const
  const bundle = await rolldown({ ...settings, input, external: [...external] })
  await bundle.write({
    dir: folder,
    format: 'es',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name].js',
    // Docstrings are only in the declarations.
    comments: { legal: true, annotation: true, jsdoc: false },
    ...output,
  })
  await bundle.close()
  // Node and bundlers read the nearest package.json for each file, so a short one saves time.
  writeFileSync(join(folder, 'package.json'), '{ "type": "module", "sideEffects": false }\n')
  mkdirSync(join(folder, 'cli'), { recursive: true })
  copyFileSync(join(ROOT, 'src/cli/sample.jsonl'), join(folder, 'cli/sample.jsonl'))
}

function pruneDeclarations(folder: string): void {
  const queue = [...entries().values()].map((path) => join(folder, `${path}.d.ts`))
  const reached = new Set(queue)
  for (const file of queue) {
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(
      /(?:from |import\()['"](\.[^'"]+)\.[jt]s['"]/g,
    )) {
      const target = resolve(dirname(file), `${path}.d.ts`)
      if (reached.has(target)) continue
      reached.add(target)
      queue.push(target)
    }
  }
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted().toReversed()
  for (const path of paths.map((name) => join(folder, name))) {
    if (path.endsWith('.d.ts') && !reached.has(path)) rmSync(path)
    else if (statSync(path).isDirectory() && readdirSync(path).length === 0) rmdirSync(path)
  }
}

if (import.meta.main) {
  // zod is bundled without its unused parts, because it causes half of an import's cost.
  const packages = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(
    (name) => name !== 'zod',
  )
  const external = packages.map((name) => new RegExp(`^${name}(/|$)`))
  const dist = join(ROOT, 'dist')
  await bundleLibrary(dist, { external })
  await writeInspector(join(dist, 'inspector/page.html'))
  pruneDeclarations(dist)
}
