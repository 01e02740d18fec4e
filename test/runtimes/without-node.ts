/** Replaces Node modules and globals in test files: deep equality, paths, timers, and an empty file system. */

import { Buffer as Bytes } from 'buffer'
import { chai } from 'vitest'

export const isDeepStrictEqual = (one: unknown, other: unknown): boolean => chai.util.eql(one, other)

export const join = (...parts: readonly (string | undefined)[]): string => parts.join('/')
export const resolve = join

export const existsSync = (): boolean => false

function fail(): never {
  throw new Error('no file system here')
}
export const appendFileSync = fail
export const readdirSync = fail
export const readFileSync = fail
export const mkdtempSync = fail
export const rmSync = fail

export const setImmediate = (then: () => void): unknown => globalThis.setTimeout(then)

const timeUsed = (since = { user: 0 }): { user: number; system: number } => ({
  user: 1_000 * performance.now() - since.user,
  system: 0,
})

/** Measures time instead of processor time, and knows no warnings and no open timers. */
export const process = {
  cpuUsage: timeUsed,
  threadCpuUsage: timeUsed,
  on: () => undefined,
  off: () => undefined,
  getActiveResourcesInfo: () => [],
}

const sleep = (millis: number): Promise<void> => new Promise((done) => globalThis.setTimeout(done, millis))
export { sleep as setTimeout }

const write = Bytes.prototype.toString

/** The `buffer` package lacks the encoding `base64url`. */
export const Buffer = Object.assign(Bytes, {
  prototype: Object.assign(Bytes.prototype, {
    toString(this: typeof Bytes.prototype, encoding?: BufferEncoding, ...range: number[]): string {
      if (encoding !== 'base64url') return write.call(this, encoding, ...range)
      return write.call(this, 'base64').replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
    },
  }),
})
