/** Times pieces of code against each other: named pieces go in, the least and median time of each comes out. */

import { loadavg, cpus } from 'node:os'

/** One thing to time: `run` does `count` units of work and returns something, so that no work can be left out. */
export interface Piece {
  readonly name: string
  readonly count: number
  readonly run: () => unknown
  /** How often it runs each time its turn comes; short pieces run often, or the clock measures the machine. Default: once. */
  readonly times?: number
}

/** Time per unit of work, in microseconds. */
export interface Timing {
  readonly name: string
  readonly least: number
  readonly median: number
}

/** The latest result: read by nobody, and kept so that no work can be left out. */
const sink: unknown[] = []

/** Times the pieces in turns, `rounds` times each after one turn that does not count: noise falls on all alike. */
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
    return { name, least: Math.min(...all), median: median(all) }
  })
}

/** The middle one, or the upper of two; 0 of none. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0

/** What is in use, after what is dropped only when the event loop turns was dropped. */
async function used(): Promise<number> {
  for (let turn = 0; turn < 4; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    globalThis.gc?.()
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** Bytes of heap and buffers that a value keeps alive. */
export async function estimateMemory(make: () => unknown): Promise<number> {
  const before = await used()
  const current = [await make()]
  const after = await used()
  current.length = 0
  return after - before
}

/** The machine and its load, one line. */
export function machine(): string {
  const cpu = cpus()
  const load = loadavg()[0]?.toFixed(2) ?? '?'
  return `Node ${process.versions.node}, ${cpu.length} x ${cpu[0]?.model.trim() ?? 'unknown'}, load ${load}`
}
