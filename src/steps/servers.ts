/** What servers that speak Chat Completions require beyond the grammar. */

import { hashText } from '../event/text.ts'
import type { WriteOptions } from '../messages/prefix.ts'

/** How a server differs, as options of `toOpenAIChat`. */
type Dialect = Pick<WriteOptions, 'callIds' | 'callContent' | 'reasoning' | 'plainText'>

const NINE = /^[a-zA-Z0-9]{9}$/

/** Gives ids of nine letters and digits: an id that is one stays, and else its hash is. */
function nineLetters(): (given: string) => string {
  const used = new Set<string>()
  return (given) => {
    let id = NINE.test(given) ? given : hashText(given).slice(0, 9)
    for (let number = 2; used.has(id); number += 1) id = hashText(`${given} ${number}`).slice(0, 9)
    used.add(id)
    return id
  }
}

/** Known servers. A server that needs nothing more has no row. */
export const SERVERS = {
  /** Refuses other call ids, and a message without content. */
  mistral: { callIds: nineLetters, callContent: '' },
  /** Refuses calls without `reasoning_content` while it thinks, also calls of another model. */
  deepseek: { reasoning: 'calls' },
  /** Reads the reasoning of all its replies. */
  kimi: { reasoning: 'all' },
  /** Refuses `content: null` and a missing one. */
  lmstudio: { callContent: '' },
} as const satisfies Readonly<Record<string, Dialect>>

/** A server that {@link SERVERS} knows. */
export type ServerName = keyof typeof SERVERS
