import { invalid } from '../event/check-value.ts'
import { hashText } from '../event/text.ts'
import type { WriteOptions } from '../messages/prefix.ts'

type Dialect = Pick<
  WriteOptions,
  'answersResults' | 'callIds' | 'callContent' | 'reasoning' | 'plainText' | 'signs'
>

const NINE = /^[a-zA-Z0-9]{9}$/

/**
 * Returns a function that converts an id to nine letters and digits. An id of this form is unchanged, unless it
 * was already returned; any other id is hashed. O(1) amortised.
 */
function nineCharacterIds(): (logId: string) => string {
  const used = new Set<string>()
  const numbers = new Map<string, number>()
  return (logId) => {
    let id = NINE.test(logId) ? logId : hashText(logId).slice(0, 9)
    let number = numbers.get(logId) ?? 2
    for (; used.has(id); number += 1) id = hashText(`${logId} ${number}`).slice(0, 9)
    numbers.set(logId, number)
    used.add(id)
    return id
  }
}

/** Servers with requirements beyond OpenAI's and Anthropic's message formats. */
export const SERVERS = {
  mistral: { callIds: nineCharacterIds, callContent: '', answersResults: true },
  /** In thinking mode, DeepSeek and Kimi refuse tool calls without reasoning, even if another model made them. */
  deepseek: { reasoning: 'calls', signs: false },
  kimi: { reasoning: 'all', signs: false },
  /** The server returns reasoning as plain text, and expects it back in Responses requests. */
  vllm: { signs: false },
  /** The server rejects messages whose `content` is null or missing. */
  lmstudio: { callContent: '' },
} as const satisfies Readonly<Record<string, Dialect>>

/** Name of a server in {@link SERVERS}. */
export type ServerName = keyof typeof SERVERS

export function dialectOf(server: ServerName | undefined): Dialect {
  if (server === undefined) return {}
  if (!Object.hasOwn(SERVERS, server))
    throw invalid(
      `Unknown server ${JSON.stringify(server)}. Use one of ${Object.keys(SERVERS).join(', ')}, or omit \`server\`.`,
    )
  return SERVERS[server]
}
