/** Waits for some milliseconds, or until a signal is aborted. */

/** Waits; never rejects. */
export async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = (): void => resolve()
  const timer = setTimeout(end, milliseconds)
  signal.addEventListener('abort', end, { once: true })
  await promise
  clearTimeout(timer)
  signal.removeEventListener('abort', end)
}
