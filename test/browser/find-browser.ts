import { existsSync } from 'node:fs'

const PLACES = [
  process.env['COLLOQUY_CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Path of the installed browser, or of `COLLOQUY_CHROMIUM`; null if there is no such file. */
export const findBrowser = (): string | null =>
  PLACES.find((backend) => backend !== undefined && existsSync(backend)) ?? null
