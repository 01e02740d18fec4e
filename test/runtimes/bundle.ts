/** Bundles test files with the sources, by the bundler that builds the package. */

import { writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { ROOT } from './core-files.ts'

const HERE = import.meta.dirname

/** Number of runs of each property in `properties/`; `npm test` runs 100. */
export const RUNS = 40

/** Folder of bundles. */
export const BUILT = join(HERE, 'node_modules/.built')

/** The databases of Node for tests of conversations. */
const BACKENDS = join(ROOT, 'test/conversation/backends.ts')

const SEED = join(ROOT, 'test/seed.ts')

/** Replaces Node modules in test files. */
const WITHOUT_NODE = join(HERE, 'without-node.ts')
const REPLACED_MODULES = /^node:(fs|path|timers\/promises|util)$/

/** Uses of globals of Node in tests, which `without-node.ts` replaces. */
const GLOBALS: Readonly<Record<string, RegExp>> = {
  Buffer: /\bBuffer[.(,]/,
  setImmediate: /\bsetImmediate\b/,
  process: /\bprocess\.(?!env\b)/,
}

/** Excludes this folder, whose files use no Node modules. */
const isTest = (file: string): boolean =>
  !file.startsWith(HERE) && /^(test|properties|bench)\/.*\.ts$/.test(file.slice(ROOT.length + 1))

/**
 * Bundles a program of this folder that runs test files. Returns its path. @throws Error when it needs a
 * forbidden Node module.
 */
export async function bundle(
  name: string,
  files: readonly string[],
  platform: 'node' | 'browser',
): Promise<string> {
  const built = await rolldown({
    input: join(HERE, `${name}.ts`),
    platform,
    external: ['@electric-sql/pglite', 'pg'],
    resolve: { conditionNames: ['import', 'default'] },
    transform: {
      define: {
        'process.env.NODE_ENV': '"production"',
        'process.env': `({ COLLOQUY_RUNS: "${RUNS}" })`,
      },
    },
    plugins: [
      {
        name: 'replace Node modules',
        resolveId(source, importer) {
          if (importer === undefined) return null
          // The package declares its modules free of side effects.
          if (source === SEED) return { id: SEED, moduleSideEffects: true }
          if (REPLACED_MODULES.test(source) && isTest(importer)) return WITHOUT_NODE
          if (source === 'buffer') return join(HERE, 'node_modules/buffer/index.js')
          const isBackends = source.startsWith('.') && resolve(dirname(importer), source) === BACKENDS
          return isBackends ? join(HERE, 'backends.ts') : null
        },
        transform(code, id) {
          if (platform === 'node' || !isTest(id)) return null
          const needed = Object.entries(GLOBALS).flatMap(([name, use]) => (use.test(code) ? [name] : []))
          return needed.length === 0
            ? null
            : `import { ${needed.join(', ')} } from ${JSON.stringify(WITHOUT_NODE)}; ${code}`
        },
        load(id) {
          if (id !== join(HERE, 'bundled-tests.ts')) return null
          const entries = files.map(
            (file) => `${JSON.stringify(file)}: () => import(${JSON.stringify(join(ROOT, file))}),`,
          )
          return `import ${JSON.stringify(SEED)}\nexport const TEST_FILES = {\n${entries.join('\n')}\n}`
        },
      },
    ],
    logLevel: 'silent',
  })
  const { output } = await built.generate({ format: 'es', codeSplitting: false })
  await built.close()
  const [{ code, imports }] = output
  const needed = imports.filter(
    (module) => platform === 'browser' || !(isBuiltin(module) || module.startsWith('@electric')),
  )
  if (needed.length > 0) throw new Error(`the tests of ${name} need ${needed.join(', ')}`)
  const file = join(BUILT, `${name}.mjs`)
  writeFileSync(file, code)
  return file
}
