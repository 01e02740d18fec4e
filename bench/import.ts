/**
 * Compares a cold `import 'colloquy'` with the import of another module, each in a new process. Rounds of
 * both are interleaved. Build first.
 *
 * Usage: npm run bench:import [-- MODULE], by default LangGraph's checkpointers; MODULE can be another build's
 * `dist/index.js`.
 */

import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { orUsage } from '../test/usage.ts'
import { machine, median } from './measure.ts'

const ROUNDS = 25
const BUILT = join(import.meta.dirname, '../dist/index.js')

const [other, url] = orUsage(() => {
  const [name = '@langchain/langgraph-checkpoint', ...more] = parseArgs({
    allowPositionals: true,
  }).positionals
  if (more.length > 0) throw new Error(`${more.join(' ')}: only one module can be compared`)
  if (!existsSync(BUILT)) throw new Error('dist/index.js does not exist: run npm run build first')
  if (!/^[./]/.test(name)) return [name, import.meta.resolve(name)]
  if (!existsSync(name)) throw new Error(`${name} does not exist: pass the path of a module`)
  return [name, pathToFileURL(resolve(name)).href]
})

const folder = mkdtempSync(join(tmpdir(), 'colloquy-bench-'))
const program = join(folder, 'program.mjs')
// A file, so that the module loader has started before the import, as in a program.
writeFileSync(
  program,
  'const start = performance.now(); await import(process.argv[2]); console.log(performance.now() - start)',
)

const timeOf = (module: string): number =>
  Number(execFileSync(process.execPath, [program, module], { encoding: 'utf8' }))

const ours: number[] = []
const others: number[] = []
for (let round = 0; round < ROUNDS; round += 1) {
  ours.push(timeOf(pathToFileURL(BUILT).href))
  others.push(timeOf(url))
}
rmSync(folder, { recursive: true })

console.log(machine())
for (const [name, summarize] of [
  ['minimum', (times: readonly number[]) => Math.min(...times)],
  ['median', median],
] as const) {
  const [time, baseline] = [summarize(ours), summarize(others)]
  console.log(
    `${name}: colloquy ${time.toFixed(1)} ms, ${other} ${baseline.toFixed(1)} ms, ratio ${(time / baseline).toFixed(2)}`,
  )
}
