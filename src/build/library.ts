/** Builds the package from the declarations of `tsc`. Entries share chunks, so an import opens few files. */

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { rolldown, type OutputOptions } from 'rolldown'
import { writeInspector } from './inspector.ts'

const ROOT = resolve(import.meta.dirname, '../..')

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest

/** Returns the entries by their published names, as paths below `src` without an ending. */
export const entries = (): Map<string, string> =>
  new Map(
    Object.entries(manifest.exports).flatMap(([name, entry]) =>
      typeof entry === 'string' ? [] : [[name, entry.default.replace(/^\.\/dist\/(.*)\.js$/, '$1')] as const],
    ),
  )

interface BundleOptions {
  readonly ending: 'js' | 'ts'
  readonly more?: Readonly<Record<string, string>>
  readonly external: readonly (string | RegExp)[]
  readonly banner?: OutputOptions['banner']
}

/** Writes the entries and the command as modules that share chunks. */
export async function bundleLibrary(folder: string, options: BundleOptions): Promise<void> {
  const { ending, more = {}, external, banner } = options
  const paths = ['cli/main', ...entries().values()]
  const input = { ...Object.fromEntries(paths.map((path) => [path, join(ROOT, `src/${path}.ts`)])), ...more }
  const bundle = await rolldown({ input, platform: 'node', external: [...external], logLevel: 'silent' })
  await bundle.write({
    dir: folder,
    format: 'es',
    entryFileNames: `[name].${ending}`,
    chunkFileNames: `chunks/[name].${ending}`,
    // The declarations have the docstrings.
    comments: { legal: true, annotation: true, jsdoc: false },
    ...(banner !== undefined && { banner }),
  })
  await bundle.close()
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
  // zod is built in, without its unused parts: it is half of what an import costs.
  const packages = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies }).filter(
    (name) => name !== 'zod',
  )
  const external = packages.map((name) => new RegExp(`^${name}(/|$)`))
  const dist = join(ROOT, 'dist')
  await bundleLibrary(dist, { ending: 'js', external })
  await writeInspector(join(dist, 'inspector/page.html'))
  pruneDeclarations(dist)
}
