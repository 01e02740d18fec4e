/** Colours: whether there are any, and which of them says what. */

import { styleText } from 'node:util'
import type { Tone } from '../../inspector/index.ts'

export type { Tone } from '../../inspector/index.ts'

/** Gives a text the look of a tone. */
export type Paint = (tone: Tone, text: string) => string

const LOOKS = {
  user: 'green',
  agent: 'cyan',
  system: 'magenta',
  tool: 'blue',
  good: 'green',
  bad: 'red',
  warn: 'yellow',
  dim: 'dim',
  strong: 'bold',
  text: null,
} as const satisfies Record<Tone, string | null>

/** Text without colours. */
const unpainted: Paint = (_tone, text) => text

/** Text with colours. */
export const painted: Paint = (tone, text) => {
  const look = LOOKS[tone]
  return look === null || text === '' ? text : styleText(look, text, { validateStream: false })
}

/** Colours on a terminal only, never with NO_COLOR, anywhere with FORCE_COLOR. */
export function paintFor(isTTY: boolean, env: Readonly<Record<string, string | undefined>>): Paint {
  if ((env['NO_COLOR'] ?? '') !== '') return unpainted
  const force = env['FORCE_COLOR']
  if (force !== undefined) return force === '0' || force === 'false' ? unpainted : painted
  return isTTY && env['TERM'] !== 'dumb' ? painted : unpainted
}
