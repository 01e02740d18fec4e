/** Times pieces of code against each other, as minimum and median. */

import { loadavg, cpus } from 'node:os'

/** `run` does `count` units of work. It returns something, so that the work cannot be optimized away. */
export interface Piece {
  readonly name: string
  readonly count: number
  readonly run: () => unknown
  /** Runs per turn. Short pieces need many, or the clock measures the machine. Default: 1. */
  readonly times?: number
}

/** Microseconds per unit of work. */
export interface Timing {
  readonly name: string
  readonly minimum: number
  readonly median: number
}

/** Holds the latest result, so that the work cannot be optimized away. */
const sink: unknown[] = []

/** Runs `rounds` turns of all pieces after a warm-up turn, so that noise affects all alike. */
export function measure(pieces: readonly Piece[], rounds: number): Timing[] {
  const times = pieces.map((): number[] => [])
  for (let round = -1; round < rounds; round += 1) {
    for (const [index, piece] of pieces.entries()) {
      sink[0] = undefined
      globalThis.gc?.()
      for (let time = piece.times ?? 1; time > 0; time -= 1) {
        const start = performance.now()
        sink[0] = piece.run()
        const spent = ((performance.now() - start) * 1_000) / piece.count
        if (round >= 0) times[index]?.push(spent)
      }
    }
  }
  return pieces.map(({ name }, index) => {
    const all = times[index] ?? []
    return { name, minimum: Math.min(...all), median: median(all) }
  })
}

/** Upper median; 0 for an empty list. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** Bytes in use, after the event loop has turned often enough to release garbage. */
async function memoryInUse(): Promise<number> {
  for (let turn = 0; turn < 4; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    globalThis.gc?.()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** Bytes of heap and buffers that a value retains. */
export async function estimateMemory(make: () => unknown): Promise<number> {
  const before = await memoryInUse()
  const values = [await make()]
  const after = await memoryInUse()
  values.length = 0
  return after - before
}

export function machine(): string {
  const cpu = cpus()
  const load = loadavg()[0]?.toFixed(2) ?? '?'
  return `Node ${process.versions.node}, ${cpu.length} x ${cpu[0]?.model.trim() ?? 'unknown'}, load ${load}`
}
