/** Runs works one after the other: each begins when the one before it has ended, however it did. */

/** Gives what the work gives. */
export type RunInOrder = <T>(work: () => Promise<T>) => Promise<T>

/** A row of its own. */
export function serialQueue(): RunInOrder {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
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
