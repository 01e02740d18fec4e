/** Waits for a work no longer than its caller should be kept waiting. */

/** Milliseconds for which a request waits for what goes on without it. */
export const IN_TIME = 1_000

/** Whether a work is done within a second; later it goes on. @throws what it throws by then. */
export async function isInTime(work: Promise<unknown>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), IN_TIME)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
