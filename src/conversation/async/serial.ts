/** Runs works one after the other, or a few at once. */

/** Begins a work when it is its turn, and gives what it gives. */
export type RunInOrder = <T>(work: () => Promise<T>) => Promise<T>

/** A row of its own: each work begins when the one before it has ended, however it did. */
export function serialQueue(): RunInOrder {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}

/** At most so many works at once; the others wait in line. */
export function limitConcurrency(most: number): RunInOrder {
  let free = most
  const waiting: (() => void)[] = []
  return async (work) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => void waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}

/** Gives the results of a work on each of a list, in its order; at most so many are under way at once. */
export async function mapConcurrent<T, R>(
  list: readonly T[],
  most: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    for (let at = next++; at < list.length; at = next++) results[at] = await work(list[at] as T)
  }
  await Promise.all(Array.from({ length: Math.min(most, list.length) }, worker))
  return results
}
