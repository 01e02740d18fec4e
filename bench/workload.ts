/** Generates logs with the measured mix of kinds and sizes. */

import { decodeLine } from '../src/event/decode.ts'
import type { Event } from '../src/event/types.ts'

/**
 * The mix of recorded agent runs: 47.8 % actions of 2.05 kB, 47.8 % observations of 9.5 kB, one system
 * prompt of 24 kB, the rest messages of 1.4 kB. Sizes are means; each body has between half and one and a
 * half times its mean.
 */
export const MEASURED_MIX = {
  action: 2_050,
  observation: 9_500,
  systemPrompt: 24_000,
  message: 1_400,
} as const

export interface WorkloadOptions {
  /** Body sizes in bytes. Default: the measured mix. */
  readonly sizes?: Readonly<Record<keyof typeof MEASURED_MIX, number>>
  /**
   * Condense whenever the view reaches this many events, keeping the first two and the last half.
   * Default: never.
   */
  readonly condenseAt?: number
  /** Calls per reply. Default: 1. */
  readonly parallel?: number
  /** Restart the call ids in each reply, as some providers do. Default: unique ids. */
  readonly reuseCallIds?: boolean
  /** Answer the first call of each reply a second time, by its call id alone. Default: false. */
  readonly secondAnswers?: boolean
  /** A user sends a message during each reply, and replies record their request position. Default: false. */
  readonly steered?: boolean
  /** Start a branch from an earlier event every this many turns. Default: never. */
  readonly branchEvery?: number
}

/** Seeded generator of numbers in [0, 1), for reproducible workloads (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** One JSON line for each event. */
export const makeLines = (length: number, options: WorkloadOptions = {}): string[] =>
  makeEvents(length, options).map((event) => JSON.stringify(event))

/** Decodes a line as the engine does. */
export function decoded(line: string): Event {
  const result = decodeLine(line)
  if (!result.ok) throw new Error(`the workload has an invalid line: ${result.issues[0]?.msg ?? ''}`)
  return result.event
}

export function makeEvents(length: number, options: WorkloadOptions = {}): Event[] {
  const sizes = options.sizes ?? MEASURED_MIX
  const random = seeded(length)
  const prose = makeProse(random, 200_000)
  const body = (mean: number): string => {
    const size = Math.max(1, Math.floor(mean * (0.5 + random())))
    const from = Math.floor(random() * (prose.length - size - 1))
    return prose.slice(from, from + size)
  }
  const events: Event[] = []
  const ids: string[] = []
  const inView: string[] = []
  const add = (kind: string, fields: Record<string, unknown>, isVisible: boolean): string => {
    const seq = events.length
    const id = `0${Math.floor(random() * 2 ** 50).toString(36)}-${seq.toString(36).padStart(5, '0')}`
    const time = new Date(Date.UTC(2026, 0, 1) + seq * 1_000).toISOString()
    events.push({ id, timestamp: time, ...fields, kind } as Event)
    ids.push(id)
    if (isVisible) inView.push(id)
    return id
  }
  const prompt = { type: 'text', text: body(sizes.systemPrompt), cache_prompt: true }
  add('SystemPromptEvent', { source: 'agent', system_prompt: prompt, tools: [] }, true)
  for (let turn = 0; events.length < length; turn += 1) {
    if (turn % 24 === 0) {
      const content = [{ type: 'text', text: body(sizes.message), cache_prompt: false }]
      add('MessageEvent', { source: 'user', llm_message: { role: 'user', content } }, true)
    }
    if (events.length < length) addReply(turn)
    if (options.condenseAt !== undefined && inView.length > options.condenseAt && events.length < length) {
      const forgotten = inView.splice(2, Math.floor(inView.length / 4) * 2)
      const fields = { source: 'environment', llm_response_id: `c-${turn}`, forgotten_event_ids: forgotten }
      const id = add('Condensation', { ...fields, summary: body(sizes.message), summary_offset: 2 }, false)
      inView.splice(2, 0, `${id}-summary`)
    }
    if (options.branchEvery !== undefined && turn % options.branchEvery === 1 && events.length < length) {
      const value = ids[Math.floor(ids.length * 0.9)]
      add('ConversationStateUpdateEvent', { source: 'environment', key: 'leaf_event_id', value }, false)
    }
  }
  return events

  /** Adds a model reply: its calls, and their results as far as there is room. */
  function addReply(turn: number): void {
    const calls = Array.from({ length: options.parallel ?? 1 }, (_, index) =>
      options.reuseCallIds === true ? `call_${index}` : `call_${turn}_${index}`,
    )
    const added: (readonly [string, string])[] = []
    const record = options.steered === true ? { reply: { after: ids.at(-1) } } : {}
    if (options.steered === true && events.length < length) {
      const content = [{ type: 'text', text: body(sizes.message), cache_prompt: false }]
      add('MessageEvent', { source: 'user', llm_message: { role: 'user', content } }, true)
    }
    for (const id of calls) if (events.length < length) added.push([id, addCall(turn, id, record)])
    for (const [id, actionId] of added) if (events.length < length) addResult(id, actionId)
    if (options.secondAnswers === true && events.length < length) {
      const fields = { source: 'agent', tool_name: 'terminal', tool_call_id: calls[0], error: body(120) }
      add('AgentErrorEvent', fields, false)
    }
  }

  function addCall(turn: number, id: string, record: object): string {
    const call = { id, name: 'terminal', arguments: JSON.stringify({ command: body(sizes.action / 2) }) }
    const action = { command: body(sizes.action / 3), is_input: false, kind: 'TerminalAction' }
    return add(
      'ActionEvent',
      {
        source: 'agent',
        thought: [{ type: 'text', text: body(120), cache_prompt: false }],
        action,
        tool_name: 'terminal',
        tool_call_id: call.id,
        tool_call: { ...call, origin: 'completion', ...record },
        llm_response_id: `response-${turn}`,
        security_risk: 'LOW',
      },
      true,
    )
  }

  function addResult(id: string, actionId: string): void {
    const content = [{ type: 'text', text: body(sizes.observation), cache_prompt: false }]
    const observation = { content, is_error: false, command: 'ls', exit_code: 0, kind: 'TerminalObservation' }
    const fields = { source: 'environment', tool_name: 'terminal', tool_call_id: id, action_id: actionId }
    add('ObservationEvent', { ...fields, observation }, true)
  }
}

/** Text like tool output: words, numbers, quotes and line ends. */
function makeProse(random: () => number, size: number): string {
  const words: string[] = []
  for (let length = 0; length < size;) {
    const word = Math.floor(random() * 2 ** 40)
      .toString(36)
      .slice(0, 2 + Math.floor(random() * 7))
    const end = random()
    const text = end < 0.1 ? `"${word}"\n` : `${word} `
    words.push(text)
    length += text.length
  }
  return words.join('')
}
