import { existsSync } from 'node:fs'

const PLACES = [
  process.env['COLLOQUY_CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Returns the path in `COLLOQUY_CHROMIUM`, or else of an installed browser; null if neither exists. */
export const findBrowser = (): string | null =>
  PLACES.find((backend) => backend !== undefined && existsSync(backend)) ?? null
