/** Claude Code sessions that are read while they are written, in pieces of any size. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { recordsOf } from '../../properties/sessions/lines.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { growingClaudeCode } from '../../src/sessions/growing-claude-code.ts'
import { readSession, type SessionFact } from '../../src/sessions/index.ts'
import { replay } from '../../src/state/reduce.ts'

/** A subagent of a session: the position of its lines, the link to its call, and whether it has ended. */
interface Subagent {
  readonly kind: 'own file' | 'agent in the file' | 'prompt in the file'
  readonly isEnded: boolean
  readonly texts: readonly string[]
}

const subagent = fc.record<Subagent>({
  kind: fc.constantFrom('own file', 'agent in the file', 'prompt in the file'),
  isEnded: fc.boolean(),
  texts: fc.array(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 3 }),
})

const reply = (id: string, stop_reason: string, block: object): object => ({
  id,
  role: 'assistant',
  content: [block],
  stop_reason,
})

/** The lines of a session whose replies call subagents at the same time. */
function linesOf(replies: readonly (readonly Subagent[])[], nextRandom: () => number): JsonObject[] {
  const lines: JsonObject[] = []
  let count = 0
  let parent: string | null = null
  const line = (type: string, message: object, more: object = {}): JsonObject => ({
    uuid: `u${(count += 1)}`,
    parentUuid: parent,
    type,
    sessionId: 's',
    timestamp: `2026-01-01T00:00:00.${String(count % 1000).padStart(3, '0')}Z`,
    message: message as JsonObject,
    ...more,
  })
  const add = (...args: Parameters<typeof line>): void => {
    const record = line(...args)
    lines.push(record)
    parent = record['uuid'] as string
  }
  for (const [turn, subagents] of replies.entries()) {
    add('user', { role: 'user', content: `prompt ${turn}` })
    const stop = subagents.length === 0 ? 'end_turn' : 'tool_use'
    add('assistant', reply(`m${turn}`, stop, { type: 'text', text: `text ${turn}` }))
    const waiting: JsonObject[][] = subagents.map(({ kind, texts, isEnded }, index) => {
      const name = `${turn}-${index}`
      const prompt = `task ${name}`
      add(
        'assistant',
        reply(`m${turn}`, stop, { type: 'tool_use', id: `t${name}`, name: 'Task', input: { prompt } }),
      )
      const agentId = kind === 'prompt in the file' ? {} : { agentId: `a${name}` }
      const before = parent
      const chain: JsonObject[] = []
      if (kind !== 'own file') {
        parent = null
        const side = { isSidechain: true, ...agentId }
        const appendLine = (type: string, message: object): void => {
          const record = line(type, message, side)
          chain.push(record)
          parent = record['uuid'] as string
        }
        appendLine('user', { role: 'user', content: prompt })
        for (const [index, text] of texts.entries())
          appendLine('assistant', reply(`s${name}-${index}`, 'end_turn', { type: 'text', text }))
      }
      parent = before
      if (!isEnded) return chain
      const content = [{ type: 'tool_result', tool_use_id: `t${name}`, content: `result ${name}` }]
      return [...chain, line('user', { role: 'user', content }, { toolUseResult: agentId })]
    })
    // The lines of several subagents are interleaved.
    for (let remaining = waiting.filter(({ length }) => length > 0); remaining.length > 0;) {
      lines.push(remaining[nextRandom() % remaining.length]?.shift() as JsonObject)
      remaining = remaining.filter(({ length }) => length > 0)
    }
  }
  return lines
}

/** The ids and the messages of a log. The records of a reply depend on how its lines arrive. */
const contentOf = (facts: readonly SessionFact[]) => [
  facts.map(({ fact }) => fact.id),
  toMessages(replay(facts.map(({ fact }) => fact))),
]

/** The children that results refer to, by the ids of their calls. */
const linkedChildren = (facts: readonly SessionFact[]): [string, unknown][] =>
  facts.flatMap(({ fact }) =>
    !isQuarantined(fact) &&
    fact.kind === 'ObservationEvent' &&
    fact.observation.kind === 'SubagentObservation'
      ? [[fact.action_id, fact.observation['conversation_id']] as [string, unknown]]
      : [],
  )

function readInPieces(lines: readonly JsonObject[], cuts: readonly number[]) {
  const read = growingClaudeCode((name) => `s-${name}`)
  const records = recordsOf(lines)
  const ends = [...cuts.map((cut) => cut % (lines.length + 1)), lines.length].toSorted((a, b) => a - b)
  const facts: SessionFact[] = []
  const sides = new Map<string, SessionFact[]>()
  const links = new Map<string, string>()
  let start = 0
  for (const end of ends) {
    const next = read(records.slice(start, end))
    start = end
    facts.push(...next.facts)
    for (const [name, more] of next.sides) sides.set(name, [...(sides.get(name) ?? []), ...more])
    for (const [name, action] of next.subagents) links.set(name, action)
  }
  return { facts, sides, links }
}

const task = (id: string): object => ({ type: 'tool_use', id, name: 'Task', input: { prompt: 'task' } })

describe('a growing session of Claude Code', () => {
  it('has the messages, side chains and links of the whole session, in any pieces', () => {
    let [linked, running] = [0, 0]
    fc.assert(
      fc.property(
        fc.array(fc.array(subagent, { maxLength: 3 }), { minLength: 1, maxLength: 4 }),
        fc.infiniteStream(fc.nat()),
        fc.array(fc.nat(), { maxLength: 12 }),
        (replies, random, cuts) => {
          const lines = linesOf(replies, () => random.next().value ?? 0)
          const whole = readSession(recordsOf(lines), { from: 'claude-code' })
          const { facts, sides, links } = readInPieces(lines, cuts)
          expect(contentOf(facts)).toEqual(contentOf(whole.facts))
          expect(linkedChildren(facts)).toEqual(linkedChildren(whole.facts))
          expect([...sides].map(([name, chain]) => [`s-${name}`, contentOf(chain)])).toEqual(
            whole.children.map((child) => [child.id, contentOf(child.facts)]),
          )
          for (const { id, subagent: link } of whole.children) {
            const action = links.get(String(id).slice('s-'.length))
            expect(action).toBe(link?.actionId)
            linked += 1
            if (!linkedChildren(facts).some(([call]) => call === action)) running += 1
          }
        },
      ),
      { numRuns: 200 },
    )
    expect(Math.min(linked, running)).toBeGreaterThan(50)
  })

  it('reads the messages of a session that begins with a side chain', () => {
    const about = { sessionId: 's', timestamp: '2026-01-01T00:00:00Z', type: 'user', parentUuid: null }
    const lines = [
      { ...about, uuid: 'x', isSidechain: true, message: { role: 'user', content: 'Warmup' } },
      { ...about, uuid: 'u', isSidechain: false, message: { role: 'user', content: 'go' } },
    ]
    const { facts, children } = readSession(recordsOf(lines), { from: 'claude-code' })
    const whole = readInPieces(lines, [])
    expect(contentOf(whole.facts)).toEqual(contentOf(facts))
    expect([...whole.sides.values()].map(contentOf)).toEqual(children.map((child) => contentOf(child.facts)))
    expect(JSON.stringify(readInPieces(lines, [1]).facts)).toContain('"go"')
  })

  it('links a side chain before its call has a result, and corrects the link with the result', () => {
    const calls = { id: 'm', role: 'assistant', content: [task('t1'), task('t2')], stop_reason: 'tool_use' }
    const about = { sessionId: 's', timestamp: '2026-01-01T00:00:00Z' }
    const side = { ...about, type: 'user', isSidechain: true, parentUuid: null }
    const content = [{ type: 'tool_result', tool_use_id: 't2', content: 'ok' }]
    const read = growingClaudeCode((name, isSide) => `${isSide} ${name}`)
    const records = recordsOf([
      { ...about, uuid: 'u', parentUuid: null, type: 'user', message: { role: 'user', content: 'go' } },
      { ...about, uuid: 'a', parentUuid: 'u', type: 'assistant', message: calls },
      { ...side, uuid: 'x', agentId: 'one', message: { role: 'user', content: 'task' } },
      {
        ...about,
        uuid: 'r',
        parentUuid: 'a',
        type: 'user',
        message: { role: 'user', content },
        toolUseResult: { agentId: 'one' },
      },
      { ...side, uuid: 'y', agentId: 'two', message: { role: 'user', content: 'task' } },
    ])
    const steps = records.map((record) => read([record]))
    expect(steps.map(({ subagents }) => subagents)).toEqual([
      [],
      [],
      [['one', 'a']],
      [['one', 'a.1']],
      [['two', 'a']],
    ])
    expect(linkedChildren(steps.flatMap(({ facts }) => facts))).toEqual([['a.1', 'true one']])
  })
})
