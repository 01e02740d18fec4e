/** Finds the browser that is on this machine; `COLLOQUY_CHROMIUM` names another place. */

import { existsSync } from 'node:fs'

const PLACES = [
  process.env['COLLOQUY_CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** The browser's file; null where there is none. */
export const findBrowser = (): string | null =>
  PLACES.find((backend) => backend !== undefined && existsSync(backend)) ?? null
