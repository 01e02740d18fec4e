/**
 * Counts work instead of timing it: entries into each block of the project's code, and elements and
 * characters that pass through built-in and database calls.
 */

import { type Profiler, Session } from 'node:inspector'
import { StatementSync } from 'node:sqlite'

type Native = (this: unknown, ...input: unknown[]) => unknown

/** Characters per unit: strings are copied many characters at a time. */
const CHARACTERS = 64

/** Calls that hide a loop, by owner. Their results are counted (rows, for the database). */
const LOOPS: readonly (readonly [owner: object, names: readonly (string | symbol)[]])[] = [
  [JSON, ['stringify', 'parse']],
  [Object, ['keys', 'values', 'entries']],
  [Array.prototype, ['slice', 'concat', 'join', 'with', 'toSpliced', 'toReversed', 'toSorted', 'flat']],
  [Array.prototype, ['indexOf', 'lastIndexOf', 'includes', 'sort', Symbol.iterator]],
  [Uint8Array.prototype, ['slice', 'set']],
  [StatementSync.prototype, ['all', 'get', 'run', 'iterate']],
]
/** Calls that read the whole list, whatever their result. */
const READ_ALL: ReadonlySet<unknown> = new Set(['indexOf', 'lastIndexOf', 'includes', Symbol.iterator])

const session = new Session()
let nativeWork = 0

/**
 * Starts counting. Import the code to measure after this: code compiled before is counted only per
 * function.
 */
export function startCounting(): void {
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
}

export function stopCounting(): void {
  session.disconnect()
}

/** Units of work of `run`: the same on every run. */
export async function spentOn(run: () => unknown): Promise<number> {
  takeBlocks()
  nativeWork = 0
  const unwatch = watchLoops()
  try {
    await run()
  } finally {
    unwatch()
  }
  return takeBlocks() + nativeWork
}

/** Entries into blocks of src since the last call. */
function takeBlocks(): number {
  let count = 0
  session.post('Profiler.takePreciseCoverage', (error, coverage?: Profiler.TakePreciseCoverageReturnType) => {
    if (error !== null) throw error
    for (const { url, functions } of coverage?.result ?? [])
      if (url.includes('/src/') && !url.includes('/node_modules/'))
        for (const { ranges } of functions) for (const range of ranges) count += range.count
  })
  return count
}

/** Counts elements that pass through hidden loops, until the returned function is called. */
function watchLoops(): () => void {
  const restores = LOOPS.flatMap(([owner, names]) =>
    names.map((name) => {
      const descriptor = Object.getOwnPropertyDescriptor(owner, name) ?? {}
      const original: Native = Reflect.get(owner, name)
      const value: Native = function (...input) {
        const result = Reflect.apply(original, this, input)
        nativeWork += 1 + sizeOf(result) + sizeOf(input[0]) + (READ_ALL.has(name) ? sizeOf(this) : 0)
        return result
      }
      Reflect.defineProperty(owner, name, { ...descriptor, value })
      return () => Reflect.defineProperty(owner, name, descriptor)
    }),
  )
  return () => restores.forEach((restore) => restore())
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length / CHARACTERS
  if (Array.isArray(value)) return value.length
  return value instanceof Uint8Array ? value.length / CHARACTERS : 0
}
