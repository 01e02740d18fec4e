/** Generates the history that every contender receives: turns of an agent, the same on every run. */

import { seeded } from '../workload.ts'

/** An event, independent of any library's format. */
export type Item =
  | { readonly kind: 'user' | 'assistant'; readonly id: string; readonly text: string }
  | { readonly kind: 'call'; readonly id: string; readonly callId: string; readonly command: string }
  | { readonly kind: 'result'; readonly id: string; readonly callId: string; readonly text: string }

export const TOOL = 'terminal'

/** Calls in one turn, each with a result, between the user's message and the agent's. */
const CALLS = 8

export const TURN = 2 + 2 * CALLS

/** Mean text sizes in bytes; each text has between half and one and a half times its mean. */
export const SIZES = { user: 600, assistant: 700, call: 600, result: 2_000 } as const

/**
 * Generates events endlessly. The first turn is shortened so that a turn ends at `length` and the next event
 * is a user message.
 * @param length even
 */
export function* history(length: number): Generator<Item, never> {
  const random = seeded(length)
  const prose = makeProse(random, 400_000)
  const text = (mean: number): string => {
    const size = Math.floor(mean * (0.5 + random()))
    const from = Math.floor(random() * (prose.length - size))
    return prose.slice(from, from + size)
  }
  let calls = length % TURN === 0 ? CALLS : ((length % TURN) - 2) / 2
  for (let count = 0; ; calls = CALLS) {
    const id = (): string => `e-${String((count += 1)).padStart(8, '0')}`
    yield { kind: 'user', id: id(), text: text(SIZES.user) }
    for (let call = 0; call < calls; call += 1) {
      const callId = `call_${count}`
      yield { kind: 'call', id: id(), callId, command: text(SIZES.call) }
      yield { kind: 'result', id: id(), callId, text: text(SIZES.result) }
    }
    yield { kind: 'assistant', id: id(), text: text(SIZES.assistant) }
  }
}

export function take(items: Generator<Item, never>, count: number): Item[] {
  return Array.from({ length: count }, () => items.next().value)
}

/** Arguments as the model writes them. */
export const argumentsOf = (command: string): string => JSON.stringify({ command })

/** The part of a Chat Completions message that is checked. */
export interface ChatMessage {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: readonly { readonly function?: { readonly arguments: string } }[]
}

/** The prompt for libraries that leave it to their user: one message per event, unchecked. */
export function plainMessage(item: Item): object {
  switch (item.kind) {
    case 'user':
    case 'assistant':
      return { role: item.kind, content: item.text }
    case 'call': {
      const call = { name: TOOL, arguments: argumentsOf(item.command) }
      return {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: item.callId, type: 'function', function: call }],
      }
    }
    case 'result':
      return { role: 'tool', tool_call_id: item.callId, content: item.text }
    default:
      return item satisfies never
  }
}

/**
 * Number of characters in a prompt. It must be equal for all contenders, which proves that each did the
 * work.
 */
export function charactersOfPrompt(messages: readonly object[]): number {
  let characters = 0
  for (const message of messages as readonly ChatMessage[]) {
    characters += charactersOfContent(message.content)
    for (const call of message.tool_calls ?? []) characters += call.function?.arguments.length ?? 0
  }
  return characters
}

/** Number of characters in the events. */
export function charactersOfItems(items: readonly Item[]): number {
  let characters = 0
  for (const item of items)
    characters += item.kind === 'call' ? argumentsOf(item.command).length : item.text.length
  return characters
}

function charactersOfContent(content: unknown): number {
  if (typeof content === 'string') return content.length
  if (!Array.isArray(content)) return 0
  return content.reduce((sum: number, part: { readonly text?: string }) => sum + (part.text?.length ?? 0), 0)
}

/** Text like tool output, which a database cannot compress to almost nothing. */
function makeProse(random: () => number, size: number): string {
  const words: string[] = []
  for (let length = 0; length < size;) {
    const word = Math.floor(random() * 2 ** 40)
      .toString(36)
      .slice(0, 2 + Math.floor(random() * 7))
    const text = random() < 0.1 ? `"${word}"\n` : `${word} `
    words.push(text)
    length += text.length
  }
  return words.join('')
}
