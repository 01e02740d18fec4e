/** Changes one line in a copy of the project, and checks the laws there in a child process. */

import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { buildCorpus } from './corpus.ts'
import type { Fault } from './fault.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const COPIED = [
  'src',
  'properties',
  'test/model',
  'test/providers',
  'test/validators',
  'test/service/killable-store.ts',
]
const PATIENCE_MS = 600_000

const run = promisify(execFile)

export const CHILDREN = [
  'child.ts',
  'execution-child.ts',
  'loops-child.ts',
  'readers-child.ts',
  'redaction-child.ts',
] as const

export type Child = (typeof CHILDREN)[number]

export interface Bench {
  /**
   * Returns the first broken law, as `V1: …`, or `all laws hold`. A copy handles one fault at a time. Without
   * a fault, checks the project as it is.
   */
  readonly verdict: (copy: number, fault?: Fault, child?: Child) => Promise<string>
  readonly close: () => void
}

/** Outside of node_modules, where Node does not strip types. */
export function openBench(copies: number): Bench {
  const home = mkdtempSync(join(tmpdir(), 'colloquy-faults-'))
  const corpus = join(home, 'corpus.json')
  writeFileSync(corpus, JSON.stringify(buildCorpus()))
  const folders = Array.from({ length: copies }, (_, n) => copyTo(join(home, `copy-${n}`)))
  return {
    close: () => rmSync(home, { recursive: true, force: true }),
    async verdict(copy, fault, child = childOf(fault)) {
      const folder = folders[copy] ?? ''
      const file = join(folder, 'src', fault?.file ?? '')
      if (fault !== undefined) writeFileSync(file, mutated(fault))
      try {
        const { stdout } = await run(
          process.execPath,
          [join(folder, 'properties/faults', child), corpus, fault?.file ?? ''],
          {
            cwd: folder,
            timeout: PATIENCE_MS,
            // Loading code takes most of a child's time, and only one file differs.
            env: { ...process.env, NODE_COMPILE_CACHE: join(home, 'cache') },
          },
        )
        return stdout.trim()
      } finally {
        if (fault !== undefined) cpSync(join(ROOT, 'src', fault.file), file)
      }
    },
  }
}

export function childOf(fault: Fault | undefined): Child {
  if (/^(?:explain\/|conversation\/(?:follow\/|shared-replies|streamed))/.test(fault?.file ?? ''))
    return 'readers-child.ts'
  if (/^(?:conversation|steps)\//.test(fault?.file ?? '')) return 'execution-child.ts'
  if (/^(?:context\/redaction\/|event\/unsign)/.test(fault?.file ?? '')) return 'redaction-child.ts'
  return fault?.file === 'context/stuck.ts' ? 'loops-child.ts' : 'child.ts'
}

function copyTo(folder: string): string {
  mkdirSync(join(folder, 'test'), { recursive: true })
  for (const part of COPIED) cpSync(join(ROOT, part), join(folder, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir')
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  return folder
}

/** @throws Error when the text does not occur exactly once. */
export function mutated({ name, file, find, replace }: Fault): string {
  const text = readFileSync(join(ROOT, 'src', file), 'utf8')
  const count = text.split(find).length - 1
  if (count !== 1)
    throw new Error(`${name}: the text occurs ${count} times in src/${file}, not once: ${find}`)
  return text.replace(find, () => replace)
}
