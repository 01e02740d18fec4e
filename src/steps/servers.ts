/** Requirements of servers beyond the Chat Completions grammar. */

import { hashText } from '../event/text.ts'
import type { WriteOptions } from '../messages/prefix.ts'

type Dialect = Pick<WriteOptions, 'callIds' | 'callContent' | 'reasoning' | 'plainText'>

const NINE = /^[a-zA-Z0-9]{9}$/

/** Makes ids of nine letters and digits: a valid id is unchanged, another is hashed. */
function nineCharacterIds(): (logId: string) => string {
  const used = new Set<string>()
  return (logId) => {
    let id = NINE.test(logId) ? logId : hashText(logId).slice(0, 9)
    for (let number = 2; used.has(id); number += 1) id = hashText(`${logId} ${number}`).slice(0, 9)
    used.add(id)
    return id
  }
}

/** Known servers. A server without further requirements has no row. */
export const SERVERS = {
  mistral: { callIds: nineCharacterIds, callContent: '' },
  /** Refuses calls without `reasoning_content` in thinking mode, including calls of another model. */
  deepseek: { reasoning: 'calls' },
  kimi: { reasoning: 'all' },
  /** Refuses `content: null`, and missing content. */
  lmstudio: { callContent: '' },
} as const satisfies Readonly<Record<string, Dialect>>

/** A server in {@link SERVERS}. */
export type ServerName = keyof typeof SERVERS
