import { existsSync } from 'node:fs'

const CANDIDATES = [
  process.env['COLLOQUY_CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Returns the path in `COLLOQUY_CHROMIUM`, or else of an installed browser; null if neither exists. */
export const findBrowser = (): string | null =>
  CANDIDATES.find((path) => path !== undefined && existsSync(path)) ?? null
