/** The inspector's page: its size, its policy, the log in it, and what it computes from the log. */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildInspector } from '../../src/build/library.ts'
import { fitToBudget } from '../../src/context/budget.ts'
import { loadLine } from '../../src/event/load.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import { fromAnthropic } from '../../src/messages/index.ts'
import { maskSecrets } from '../../src/event/mask.ts'
import { findings } from '../../src/explain/index.ts'
import { inspectorPage } from '../../src/inspector/index.ts'
import { asksOf, differenceAt, type Form, FORMS } from '../../src/inspector/model/request.ts'
import { lanesOf, NO_COLUMN } from '../../src/inspector/model/lanes.ts'
import {
  type BudgetLine,
  budgetLine,
  frontTokens,
  readAtOnce,
  tokensOfUnit,
  totalOf,
  unitRows,
} from '../../src/inspector/model/view-reading.ts'
import { stateOf } from '../../src/inspector/model/replayed.ts'
import { replayed } from './replayed.ts'
import { matching } from '../../src/inspector/model/search.ts'
import { whatIf } from '../../src/inspector/model/what-if.ts'
import type { NeutralMessage } from '../../src/messages/message.ts'
import { cutPoints, listPendingBatches, unitEvents, viewEvents } from '../../src/state/index.ts'
import { stateAt } from '../../src/state/at.ts'
import type { State } from '../../src/state/state.ts'
import { hostileLog } from '../../src/testing/hostile-log.ts'
import { isPending, type Unit } from '../../src/view/units.ts'
import { documentOf } from './document.ts'

const TEMPLATE = '<body><!--data--><script>start</script></body>'

/** Text of each data block as a browser reads it, up to the first script end. */
const blocksIn = (page: string): string[] =>
  [...page.matchAll(/<script type="application\/json"[^>]*>([^]*?)<\/script/gi)].map(([, text = '']) => text)

describe('the inspector page', () => {
  it('has fewer than 300,000 characters, and its policy allows no external source', async () => {
    const page = await buildInspector()
    expect(page.length).toBeLessThan(300_000)
    const policy = /content="(default-src[^"]*)"/.exec(page)?.[1] ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toMatch(/unsafe|data:|http|\*/)
    expect(page).not.toMatch(/<(?:link|img|iframe)|src="/)
  })

  it('contains a hostile log with masked secrets, and no log text ends a script element', () => {
    const secret = 'gAAAAsecret'
    fc.assert(
      fc.property(
        hostileLog(),
        fc.string(),
        fc.constantFrom('</script>', '<!--<script>', ']]>', '\u2028'),
        (facts, title, markup) => {
          const llm_message = {
            role: 'assistant',
            content: [{ type: 'text', text: markup }],
            responses_reasoning_item: { id: markup, encrypted_content: secret },
          } as const
          const log = documentOf(
            [...facts, { kind: 'MessageEvent', id: 'end', source: 'agent', llm_message }],
            title + markup,
          )
          const page = [...inspectorPage(TEMPLATE, [log])].join('')
          const [, head = '', ...rest] = blocksIn(page)
          expect(JSON.parse(head).title).toBe(title + markup)
          const read = rest.flatMap((block): unknown[] => JSON.parse(block))
          expect(read).toHaveLength(log.facts.length)
          const plain = log.facts.flatMap((fact, index) => (isQuarantined(fact) ? [] : [[read[index], fact]]))
          for (const [written, fact] of plain)
            expect(written).toEqual(JSON.parse(JSON.stringify(maskSecrets(fact))))
          expect(page).not.toContain(secret)
          expect(page.match(/<\/?script/g)).toHaveLength(2 * (3 + rest.length))
        },
      ),
      { numRuns: 60 },
    )
  })
})

/** The expected budget line: the engine's cut if each unit were one message. */
function lineByFit(state: State, budget: number): BudgetLine {
  const { system, tools } = frontTokens(state)
  const remaining = budget - system - tools
  const units = new WeakMap<NeutralMessage, Unit>()
  const write = ({ branch }: State): NeutralMessage[] =>
    [...branch.view.units]
      .filter((unit) => !isPending(unit))
      .map((unit) => {
        const message: NeutralMessage = { role: 'system', content: [] }
        units.set(message, unit)
        return message
      })
  const count = (messages: readonly NeutralMessage[]): number =>
    messages.reduce((sum, message) => sum + totalOf(tokensOfUnit(units.get(message) as Unit)), 0)
  const fit = fitToBudget(state, count, Math.max(0, remaining), { write })
  if (fit.type === 'fit') return { cut: fit.cut, remaining: remaining - fit.tokens, refused: null }
  const minimum = fit.reason.tokens + system + tools
  return { cut: 0, remaining: budget - minimum, refused: `the minimum request has ${minimum} tokens` }
}

describe('values computed from a log', () => {
  it('include each request of a server that gives all replies the same id', () => {
    const events = [1, 2].flatMap((number) => {
      const call = (id: string) => ({ type: 'tool_use', id: `${id}${number}`, name: 'ls', input: {} })
      const usage = { input_tokens: number, output_tokens: 1 }
      const reply = { id: 'same', stop_reason: 'tool_use', content: [call('a'), call('b')], usage }
      return fromAnthropic(reply).events
    })
    const asks = asksOf(replayed(documentOf(events)))
    expect(asks.map(({ seq, tokens }) => [seq, tokens?.input])).toEqual([
      [0, 1],
      [2, 2],
    ])
  })

  it('agree with the engine at every position of a hostile log', () => {
    let [cuts, breaks, lines] = [0, 0, 0]
    fc.assert(
      fc.property(
        hostileLog(),
        fc.nat(),
        fc.nat(),
        fc.constantFrom(...(Object.keys(FORMS) as Form[])),
        fc.nat({ max: 400 }),
        (facts, index, from, format, budget) => {
          const log = replayed(documentOf(facts))
          const position = facts.length === 0 ? 0 : index % (facts.length + 1)
          const state = stateOf(log, position)
          const last = state.log.entries.last()
          const read = readAtOnce(state)
          const { marks, starts, tokens } = read
          const ids = new Set([
            ...viewEvents(state),
            ...listPendingBatches(state).flatMap((unit) => [...unitEvents(unit)]),
          ])
          expect(marks.reduce((sum, mark) => sum + mark, 0)).toBe(
            [...ids].filter((item) => 'seq' in item).length,
          )
          const rows = unitRows(state.branch.view, 0, starts)
          const reports = new Set(rows.flatMap((row) => (row.isCut && !row.isPending ? [row.position] : [])))
          for (const cut of cutPoints(state).slice(0, -1)) expect(reports.has(cut)).toBe(true)
          cuts += reports.size
          if (last?.inTree === true && last.canBeHead && last.id !== null)
            expect(stateAt(state, last.id).branch).toBe(state.branch)
          const { broken } = differenceAt(log, asksOf(log), position, format)
          if (broken !== null) breaks += 1
          expect(budgetLine(read, totalOf(tokens))).toEqual({ cut: 0, remaining: 0, refused: null })
          const line = budgetLine(read, budget)
          expect(line).toEqual(lineByFit(state, budget))
          if (line.cut > 0) lines += 1
          // Passing an earlier reading changes only the speed.
          expect(readAtOnce(state, readAtOnce(stateOf(log, from % (facts.length + 1))))).toEqual(read)
          expect(whatIf(state, { type: 'cut', index: 0 }).state.branch.view.length).toBe(
            state.branch.view.length,
          )
          const { column, width } = lanesOf(state)
          for (const [seq, one] of column.entries())
            expect(one < width).toBe(state.log.entries.get(seq)?.inTree === true && one !== NO_COLUMN)
          expect(Array.isArray(findings(state))).toBe(true)
        },
      ),
      { numRuns: 150 },
    )
    // The generated logs contained these cases.
    expect(cuts).toBeGreaterThan(100)
    expect(breaks).toBeGreaterThan(5)
    expect(lines).toBeGreaterThan(5)
  })
})

it('opening a log rejects with the error of reading it', async () => {
  // The types of the page need a browser's globals.
  const path = '../../src/inspector/page/session.ts'
  const page = (await import(path)) as { openLog(document: object, tell: () => void): Promise<object> }
  const unreadable = {
    ...documentOf([]),
    get facts(): never {
      throw new Error('unreadable')
    },
  }
  await expect(page.openLog(unreadable, () => undefined)).rejects.toThrow('unreadable')
})

it('a search finds an unreadable line only by its text', () => {
  const log = replayed(documentOf([loadLine('not JSON').fact, { kind: 'PauseEvent', id: 'null' }]))
  const search = (text: string) => matching(log, { text, hidden: new Set() }).next().value
  expect([search('null'), search('json'), search('')]).toEqual([[1], [0], [0, 1]])
})
