import { checkInteger, invalidArgument, MAX_DELAY } from '../../event/check-value.ts'
import { ColloquyError } from '../../event/errors.ts'

const TIMEOUT = 10_000

/** Milliseconds until an attempt to connect fails. */
export const CONNECT_TIMEOUT = 10_000

export const checkTimeout = (timeout: number | undefined): number =>
  checkInteger('timeout', timeout, 1, MAX_DELAY, TIMEOUT, invalidArgument)

export function inTime<T>(call: Promise<T>, timeout: number, keepsAlive = true): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const message = `PostgreSQL did not respond within ${timeout} ms. Retry later.`
  const fail = (): void => reject(new ColloquyError('store_unavailable', message, { timeout }))
  const timer = setTimeout(fail, timeout)
  if (!keepsAlive) timer.unref?.()
  return Promise.race([call, late]).finally(() => clearTimeout(timer))
}
