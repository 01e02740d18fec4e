/** Generates scripts of conversations, from which session files are written and read back. */

import * as fc from 'fast-check'

export interface ScriptCall {
  readonly name: string
  readonly input: Readonly<Record<string, string>>
  readonly result: string
  readonly isError: boolean
}

export interface ScriptReply {
  readonly thinking: string | null
  readonly text: string
  readonly calls: readonly ScriptCall[]
}

export interface Turn {
  /** Number of turns that the user goes back before this turn. */
  readonly back: number
  readonly user: string
  readonly replies: readonly ScriptReply[]
  /** A summary of everything before; null without compaction. */
  readonly compacted: string | null
  /** Whether the turn itself stays visible after it. */
  readonly keeps?: boolean
  /** Differences between versions, of which each writer uses some. */
  readonly drift: readonly boolean[]
}

export type Script = readonly Turn[]

export type ScriptItem =
  | readonly ['user', string]
  | readonly ['agent', string]
  | readonly ['call', string, string]
  | readonly ['result', string, boolean]
  | readonly ['summary', string]

const shortText = fc.string({ unit: 'grapheme', maxLength: 8 })

const call: fc.Arbitrary<ScriptCall> = fc.record({
  name: fc.constantFrom('bash', 'read_file', 'Edit'),
  input: fc.record({ path: shortText }),
  result: shortText,
  isError: fc.boolean(),
})

const reply = (least: number): fc.Arbitrary<ScriptReply> =>
  fc.record({
    thinking: fc.option(shortText),
    text: shortText,
    calls: fc.array(call, { minLength: least, maxLength: 3 }),
  })

const turn: fc.Arbitrary<Turn> = fc.record({
  back: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 3 })),
  user: shortText,
  replies: fc
    .tuple(fc.array(reply(1), { maxLength: 2 }), reply(0))
    .map(([calling, last]) => [...calling, last]),
  compacted: fc.option(shortText, { freq: 5 }),
  keeps: fc.boolean(),
  drift: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
})

/** What a format can express. */
export interface Features {
  readonly back: boolean
  readonly compact: boolean
  readonly keep?: boolean
}

/** Never goes back beyond the start. */
export const script = (can: Features): fc.Arbitrary<Script> =>
  fc.array(turn, { minLength: 1, maxLength: 6 }).map((turns) => {
    let depth = 0
    return numbered(turns).map((one) => {
      const back = can.back ? Math.min(one.back, depth) : 0
      depth += 1 - back
      const compacted = can.compact ? one.compacted : null
      return { ...one, back, compacted, keeps: can.keep === true && compacted !== null && one.keeps === true }
    })
  })

/** Reveals duplicated and misplaced texts. */
function numbered(turns: readonly Turn[]): Turn[] {
  let number = 0
  const unique = (text: string): string => `w${(number += 1)} ${text}`.trim()
  return turns.map((one) => ({
    ...one,
    user: unique(one.user),
    replies: one.replies.map(({ thinking, text, calls }) => ({
      thinking: thinking === null ? null : unique(thinking),
      text: unique(text),
      // Results may repeat.
      calls: calls.map((each) => ({
        ...each,
        input: { path: unique('in') },
        result: one.drift[7] === true ? 'ok' : unique(each.result),
      })),
    })),
    compacted: one.compacted === null ? null : unique(one.compacted),
  }))
}

export function branchOf(all: Script): Turn[] {
  const stack: Turn[] = []
  for (const one of all) {
    stack.length = Math.max(0, stack.length - one.back)
    stack.push(one)
  }
  return stack
}

/** A reply's calls precede their results. */
const turnOf = ({ user, replies }: Turn): ScriptItem[] => [
  ['user', user],
  ...replies.flatMap(({ text, calls }): ScriptItem[] => [
    ['agent', text],
    ...calls.map(({ name, input }): ScriptItem => ['call', name, JSON.stringify(input)]),
    ...calls.map(({ result, isError }): ScriptItem => ['result', result, isError]),
  ]),
]

const summaryOf = ({ compacted }: Turn): ScriptItem[] => (compacted === null ? [] : [['summary', compacted]])

export const branchItems = (all: Script): ScriptItem[] =>
  branchOf(all).flatMap((one) => [...turnOf(one), ...summaryOf(one)])

/** The last summary, what it preserved, and what followed. */
export function viewItems(all: Script): ScriptItem[] {
  const branch = branchOf(all)
  const index = branch.findLastIndex(({ compacted }) => compacted !== null)
  const last = branch[index]
  const front = last === undefined ? [] : [...summaryOf(last), ...(last.keeps === true ? turnOf(last) : [])]
  return [...front, ...branch.slice(index + 1).flatMap(turnOf)]
}
