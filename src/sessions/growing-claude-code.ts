import { stringOf } from '../messages/text.ts'
import type { Chain, Line, SplitReply } from './claude-code.ts'
import { asLine, originOf, readLine, sideRoots, SubagentCalls, Turns } from './claude-code.ts'
import type { SessionFact, SessionRecord } from './session.ts'
import { SessionWriter } from './writer.ts'

interface ReadLines {
  readonly facts: readonly SessionFact[]
  readonly title: string | null
  /** For each side chain in the session's file: its agent or number, and its new facts. */
  readonly sides: readonly (readonly [name: string, facts: readonly SessionFact[]])[]
  /** New or changed links from subagents and side chains to the calls that started them. */
  readonly subagents: readonly (readonly [agent: string, actionId: string])[]
}

/**
 * Returns a function that reads the next lines of a growing session, and returns their facts. If the last
 * reply is incomplete (for example, only thinking so far), it is read with the next lines. A reply that
 * continues after a result becomes a second reply. Side chains are read as by {@link readClaudeCode}.
 * @param childOf returns the conversation id for a subagent's id, or for a side chain's name
 */
export function growingClaudeCode(
  childOf: (name: string, isSide: boolean) => string,
): (records: readonly SessionRecord[]) => ReadLines {
  const calls = new SubagentCalls()
  let agents: ReadonlyMap<string, string> = new Map()
  let linked: ReadonlyMap<string, string> = new Map()
  const main = new GrowingChain((callId) => {
    const agent = agents.get(callId)
    return agent === undefined ? undefined : childOf(agent, sideNames.has(agent))
  })
  const rootOf = sideRoots()
  const sides = new Map<string, { readonly name: string; readonly chain: GrowingChain }>()
  const sideNames = new Set<string>()
  const addSide = (line: Line): void => {
    const root = rootOf(line)
    let side = sides.get(root)
    if (side === undefined) {
      const name = stringOf(line.fields['agentId']) || `side-${sides.size + 1}`
      side = { name, chain: new GrowingChain(() => undefined) }
      sides.set(root, side)
      sideNames.add(name)
    }
    calls.addSide(side.name, line)
    side.chain.add(line)
  }
  let isSideFile: boolean | null = null
  return (records) => {
    const lines = records.map(asLine)
    const named = lines.filter(({ uuid }) => uuid !== null)
    if (named.length > 0) isSideFile ??= named.every(({ isSide }) => isSide)
    for (const line of lines) {
      if (line.uuid !== null && line.isSide && isSideFile === false) addSide(line)
      else {
        calls.add(line)
        main.add(line)
      }
    }
    agents = calls.find()
    const facts = main.read()
    const links = new Map(
      [...agents].flatMap(([callId, agent]) => {
        const actionId = main.writer.actionOf(callId)
        return actionId === null ? [] : [[agent, actionId] as const]
      }),
    )
    const subagents = [...links].filter(([agent, actionId]) => linked.get(agent) !== actionId)
    linked = links
    return {
      facts,
      title: main.title,
      sides: [...sides.values()].map(({ name, chain }) => [name, chain.read()] as const),
      subagents,
    }
  }
}

class GrowingChain {
  // Treat every call as having a result, because the result may still follow.
  readonly writer = new SessionWriter(() => true)
  readonly #lines: Line[] = []
  readonly #replies = new Map<Line, SplitReply>()
  readonly #counts = new Map<string, number>()
  readonly #chain: Chain
  readonly #waiting: Line[] = []
  #last: Line | null = null

  constructor(childOf: Chain['childOf']) {
    this.#chain = {
      writer: this.writer,
      childOf,
      turns: new Turns(this.writer, this.#lines),
      replies: this.#replies,
      titles: [],
      named: () => new Map(this.#lines.map((line) => [line.uuid ?? '', line])),
      boundary: null,
    }
  }

  get title(): string | null {
    return this.#chain.titles.at(-1) ?? null
  }

  add(line: Line): void {
    this.#waiting.push(line)
  }

  read(): readonly SessionFact[] {
    const complete = this.#waiting.splice(0, completeLength(this.#waiting))
    for (const line of complete) {
      if (line.reply !== null)
        this.#replies.set(line, growingReply(line, this.#last, this.#replies, this.#counts))
      if (line.uuid !== null) this.#last = line
      this.#lines.push(line)
    }
    const { turns } = this.#chain
    turns.addLines()
    const start = this.writer.facts.length
    for (const line of complete) {
      turns.resume(line, { ...originOf(line), id: null })
      readLine(line, this.#chain)
      turns.finish(line)
    }
    return this.writer.facts.slice(start)
  }
}

/** Returns the number of lines that can be read: all lines except the lines of an incomplete last reply. */
function completeLength(lines: readonly Line[]): number {
  const last = lines.findLast(({ uuid }) => uuid !== null)
  const type = last?.blocks.at(-1)?.['type']
  const isThinking = type === 'thinking' || type === 'redacted_thinking'
  const isBeforeCall = type === 'text' && last?.message['stop_reason'] === 'tool_use'
  if (last === undefined || last.reply === null || !(isThinking || isBeforeCall)) return lines.length
  const before = lines.findLastIndex(({ uuid, reply }) => uuid !== null && reply !== last.reply)
  return lines.findIndex(({ reply }, index) => index > before && reply === last.reply)
}

/** Returns a line's reply: the previous line's reply if the line continues it, or else a new reply. */
function growingReply(
  line: Line,
  last: Line | null,
  replies: ReadonlyMap<Line, SplitReply>,
  counts: Map<string, number>,
): SplitReply {
  const name = line.reply ?? ''
  const count = counts.get(name) ?? 0
  const current = last?.reply === name ? replies.get(last) : undefined
  if (current !== undefined && !current.isWritten) {
    current.lines.push(count === 1 ? line : withoutUsage(line))
    return current
  }
  const isNextCall = [last, line].every((one) => one?.blocks.at(-1)?.['type'] === 'tool_use')
  if (current !== undefined && isNextCall)
    return { ...current, lines: [withoutUsage(line)], isWritten: false }
  counts.set(name, count + 1)
  return count === 0
    ? { id: name, request: '', lines: [line], isWritten: false }
    : { id: `${name}~${count + 1}`, request: '', lines: [withoutUsage(line)], isWritten: false }
}

/** Removes the usage, because every line repeats the usage of the whole reply. */
function withoutUsage(line: Line): Line {
  const { usage: _, ...message } = line.message
  return { ...line, message }
}
