/**
 * Counts what a piece of work does instead of timing it: how often each block of the project's code is entered, and the
 * elements and characters that go through what the language and the database do in one call.
 */

import { type Profiler, Session } from 'node:inspector'
import { StatementSync } from 'node:sqlite'

type Native = (this: unknown, ...input: unknown[]) => unknown

/** Characters that count as one unit: a text is copied many at a time. */
const CHARACTERS = 64

/** What hides a loop, by its owner: what comes out is counted. Of a database, rows come out. */
const LOOPS: readonly (readonly [owner: object, names: readonly (string | symbol)[]])[] = [
  [JSON, ['stringify', 'parse']],
  [Object, ['keys', 'values', 'entries']],
  [Array.prototype, ['slice', 'concat', 'join', 'with', 'toSpliced', 'toReversed', 'toSorted', 'flat']],
  [Array.prototype, ['indexOf', 'lastIndexOf', 'includes', 'sort', Symbol.iterator]],
  [Uint8Array.prototype, ['slice', 'set']],
  [StatementSync.prototype, ['all', 'get', 'run', 'iterate']],
]
/** What goes through all of a list whatever comes out. */
const READ_ALL: ReadonlySet<unknown> = new Set(['indexOf', 'lastIndexOf', 'includes', Symbol.iterator])

const session = new Session()
let native = 0

/**
 * Begins to count. What was compiled before is counted by its functions alone, so the code that is to be counted is
 * imported after this.
 */
export function startCounting(): void {
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
}

export function stopCounting(): void {
  session.disconnect()
}

/** The units of work that some code does: the same in every run. */
export async function spentOn(run: () => unknown): Promise<number> {
  takeBlocks()
  native = 0
  const unwatch = watchLoops()
  try {
    await run()
  } finally {
    unwatch()
  }
  return takeBlocks() + native
}

/** How often the blocks of src were entered since the last time that this was asked. */
function takeBlocks(): number {
  let count = 0
  session.post('Profiler.takePreciseCoverage', (error, taken?: Profiler.TakePreciseCoverageReturnType) => {
    if (error !== null) throw error
    for (const { url, functions } of taken?.result ?? [])
      if (url.includes('/src/') && !url.includes('/node_modules/'))
        for (const { ranges } of functions) for (const range of ranges) count += range.count
  })
  return count
}

/** Counts what goes through the loops that hide in one call, until what it gives is called. */
function watchLoops(): () => void {
  const undo = LOOPS.flatMap(([owner, names]) =>
    names.map((name) => {
      const stored = Object.getOwnPropertyDescriptor(owner, name) ?? {}
      const original: Native = Reflect.get(owner, name)
      const value: Native = function (...input) {
        const made = Reflect.apply(original, this, input)
        native += 1 + sizeOf(made) + sizeOf(input[0]) + (READ_ALL.has(name) ? sizeOf(this) : 0)
        return made
      }
      Reflect.defineProperty(owner, name, { ...stored, value })
      return () => Reflect.defineProperty(owner, name, stored)
    }),
  )
  return () => undo.forEach((restore) => restore())
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length / CHARACTERS
  if (Array.isArray(value)) return value.length
  return value instanceof Uint8Array ? value.length / CHARACTERS : 0
}
