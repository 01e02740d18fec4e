/** Prints the size of the code that a browser loads for some exports, and its limit: `npm run sizes`. */

import { join, relative, resolve } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'

const SRC = resolve(import.meta.dirname, '../src')

/** Exports that a program imports from an entry, and their maximum size. */
export interface Part {
  readonly entry: string
  readonly names: readonly string[]
  /** Bytes, minified and gzipped. */
  readonly max: number
}

/**
 * Limits slightly above the current sizes. They detect accidents such as an import of the schema library
 * by code that decodes nothing.
 */
export const PARTS: readonly Part[] = [
  { entry: 'index.ts', names: ['replay'], max: 9_250 },
  { entry: 'index.ts', names: ['replay', 'toMessages', 'toAnthropic'], max: 23_330 },
  { entry: 'index.ts', names: ['replay', 'toMessages', 'toOpenAIChat'], max: 21_460 },
  { entry: 'index.ts', names: ['replay', 'toMessages', 'toOpenAIResponses'], max: 24_000 },
  { entry: 'index.ts', names: ['replay', 'toMessages', 'toInteractions'], max: 21_620 },
  { entry: 'index.ts', names: ['replay', 'toMessages', 'toBedrock'], max: 22_060 },
  { entry: 'index.ts', names: ['replay', 'toMessages', 'toGoogle'], max: 22_060 },
  { entry: 'index.ts', names: ['replay', 'toMessages', 'toAiSdk'], max: 22_330 },
  { entry: 'index.ts', names: ['loadLine', 'replay', 'toMessages', 'toAnthropic'], max: 50_640 },
]

/** A minified script, and the files that contribute to it. */
export interface Bundle {
  readonly code: string
  readonly files: readonly string[]
}

/** Bundles the named exports of an entry with their dependencies; without names, all exports. */
export async function bundle(entry: string, names: readonly string[] = []): Promise<Bundle> {
  const file = JSON.stringify(join(SRC, entry))
  const program = names.length === 0 ? `export * from ${file}` : `export { ${names.join(', ')} } from ${file}`
  const build = await rolldown({
    input: 'program',
    plugins: [
      {
        name: 'program',
        resolveId: (id) => (id === 'program' ? id : null),
        load: (id) => (id === 'program' ? program : null),
      },
    ],
    platform: 'browser',
    resolve: { conditionNames: ['browser', 'import', 'default'] },
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
    logLevel: 'silent',
  })
  // A program's own build removes the comments that mark pure calls.
  const { output } = await build.generate({ format: 'iife', name: 'colloquy', minify: true, comments: false })
  await build.close()
  if (output.length !== 1) throw new Error(`${entry} was bundled into ${output.length} files`)
  const [{ code, modules }] = output
  const used = Object.entries(modules).filter(([, { renderedLength }]) => renderedLength > 0)
  return { code, files: used.map(([file]) => relative(SRC, file)) }
}

/** Gzipped bytes of a script. */
export const weigh = (code: string): number => gzipSync(code).length

if (import.meta.main) {
  console.log('bytes: minified, gzipped, limit of gzipped')
  for (const { entry, names, max: limit } of PARTS) {
    const { code } = await bundle(entry, names)
    const size = weigh(code)
    const columns = [code.length, size, limit].map((bytes) => bytes.toLocaleString('en').padStart(9)).join('')
    console.log(`${columns}  ${names.join(', ')}`)
    if (size > limit) process.exitCode = 1
  }
}
