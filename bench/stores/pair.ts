/** Pairs of a store's call and its floor go in, what each side costs comes out, both timed in the same turns. */

/** The same work done twice: by the store, and by the bare driver. */
export interface Pair {
  readonly name: string
  /** Events in the log that it works on. */
  readonly length: number
  /** Units of work in one turn; times are told for one of them. */
  readonly count: number
  /** The most that the store may cost, as a multiple of its floor; null where nothing is promised. */
  readonly target: number | null
  /** Makes the input of one turn of each side. Not timed. */
  readonly prepare?: () => void
  readonly store: () => unknown
  readonly floor: () => unknown
}

/** A pair, measured: microseconds for one unit of work. */
export interface Row extends Pick<Pair, 'name' | 'length' | 'target'> {
  readonly store: number
  readonly floor: number
}

/** The latest result: read by nobody, and kept so that no work can be left out. */
const sink: unknown[] = []

/**
 * Times pairs in turns and takes what a quarter of the turns stay below: other work on the machine makes turns slower, never faster. In a turn the two sides of a pair run one right after the other, and who goes first changes,
 * since each finds the machine's caches as the other left them. All pairs have their turn before any has its next, so that the same log
 * at two lengths is measured at the same time as well.
 */
export async function beside(pairs: readonly Pair[], rounds: number): Promise<Row[]> {
  const times = pairs.map(() => ({ store: [] as number[], floor: [] as number[] }))
  for (let round = -WARM_UP; round < rounds; round += 1) {
    for (const [i, pair] of pairs.entries()) {
      pair.prepare?.()
      for (const side of round % 2 === 0 ? (['store', 'floor'] as const) : (['floor', 'store'] as const)) {
        const time = (await timeOf(pair[side])) / pair.count
        if (round >= 0) times[i]?.[side].push(time)
      }
    }
  }
  return pairs.map(({ name, length, target }, i) => ({
    name,
    length,
    target,
    store: quarter(times[i]?.store ?? []),
    floor: quarter(times[i]?.floor ?? []),
  }))
}

const WARM_UP = 6

/** The fastest of several ways to do the same. */
export async function fastest(ways: readonly (() => unknown)[]): Promise<() => unknown> {
  const times = ways.map((): number[] => [])
  for (let round = -WARM_UP; round < 15; round += 1) {
    for (const [i, way] of ways.entries()) {
      const time = await timeOf(way)
      if (round >= 0) times[i]?.push(time)
    }
  }
  const quarters = times.map(quarter)
  const way = ways[quarters.indexOf(Math.min(...quarters))]
  if (way === undefined) throw new Error('there is no way to do it')
  return way
}

/** Microseconds. */
async function timeOf(run: () => unknown): Promise<number> {
  const start = performance.now()
  sink[0] = await run()
  return (performance.now() - start) * 1_000
}

/** What a quarter of the values stay below; 0 of none. */
const quarter = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[values.length >> 2] ?? 0
