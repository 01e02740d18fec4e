/** Talks between a user and an agent, from which the files of other agents are written, and what they must read as. */

import * as fc from 'fast-check'

/** A call of a reply, and its result. */
export interface TalkCall {
  readonly name: string
  readonly input: Readonly<Record<string, string>>
  readonly result: string
  readonly isError: boolean
}

/** A reply: it says something, or calls. */
export interface TalkReply {
  readonly thinking: string | null
  readonly text: string
  readonly calls: readonly TalkCall[]
}

export interface Turn {
  /** How many turns the user goes back before this one; as many as there are goes back to the start. */
  readonly back: number
  readonly user: string
  readonly replies: readonly TalkReply[]
  /** The summary that stands behind it for all before; null where nothing is compacted. */
  readonly compacted: string | null
  /** Whether the turn itself stays in sight behind that summary. */
  readonly keeps?: boolean
  /** What the file does at places where its writers have differed: each renderer takes what it needs. */
  readonly drift: readonly boolean[]
}

export type Talk = readonly Turn[]

/** What an event says, in a word or two of each format. */
export type Said =
  | readonly ['user', string]
  | readonly ['agent', string]
  | readonly ['call', string, string]
  | readonly ['result', string, boolean]
  | readonly ['summary', string]

const words = fc.string({ unit: 'grapheme', maxLength: 8 })

const call: fc.Arbitrary<TalkCall> = fc.record({
  name: fc.constantFrom('bash', 'read_file', 'Edit'),
  input: fc.record({ path: words }),
  result: words,
  isError: fc.boolean(),
})

const reply = (least: number): fc.Arbitrary<TalkReply> =>
  fc.record({
    thinking: fc.option(words),
    text: words,
    calls: fc.array(call, { minLength: least, maxLength: 3 }),
  })

const turn: fc.Arbitrary<Turn> = fc.record({
  back: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 3 })),
  user: words,
  replies: fc
    .tuple(fc.array(reply(1), { maxLength: 2 }), reply(0))
    .map(([calling, last]) => [...calling, last]),
  compacted: fc.option(words, { freq: 5 }),
  keeps: fc.boolean(),
  drift: fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }),
})

/** What a format can say: whether its users can go back, and its histories be compacted. */
export interface Can {
  readonly back: boolean
  readonly compact: boolean
  /** Whether a summary can leave the turn before it in sight. */
  readonly keep?: boolean
}

/** A talk of one to six turns. Nobody goes back further than the branch is long. */
export const talk = (can: Can): fc.Arbitrary<Talk> =>
  fc.array(turn, { minLength: 1, maxLength: 6 }).map((turns) => {
    let depth = 0
    return numbered(turns).map((one) => {
      const back = can.back ? Math.min(one.back, depth) : 0
      depth += 1 - back
      const compacted = can.compact ? one.compacted : null
      return { ...one, back, compacted, keeps: can.keep === true && compacted !== null && one.keeps === true }
    })
  })

/** Each text begins with a number of its own, so that what is said twice, or in another place, is seen. */
function numbered(turns: readonly Turn[]): Turn[] {
  let number = 0
  const ownValue = (text: string): string => `w${(number += 1)} ${text}`.trim()
  return turns.map((one) => ({
    ...one,
    user: ownValue(one.user),
    replies: one.replies.map(({ thinking, text, calls }) => ({
      thinking: thinking === null ? null : ownValue(thinking),
      text: ownValue(text),
      // What calls give may be the same again and again.
      calls: calls.map((each) => ({
        ...each,
        input: { path: ownValue('in') },
        result: one.drift[7] === true ? 'ok' : ownValue(each.result),
      })),
    })),
    compacted: one.compacted === null ? null : ownValue(one.compacted),
  }))
}

/** The turns on the last one's branch, in order. */
export function branchOf(all: Talk): Turn[] {
  const stack: Turn[] = []
  for (const one of all) {
    stack.length = Math.max(0, stack.length - one.back)
    stack.push(one)
  }
  return stack
}

/** What a turn says, in order; calls of a reply before their results. */
const turnOf = ({ user, replies }: Turn): Said[] => [
  ['user', user],
  ...replies.flatMap(({ text, calls }): Said[] => [
    ['agent', text],
    ...calls.map(({ name, input }): Said => ['call', name, JSON.stringify(input)]),
    ...calls.map(({ result, isError }): Said => ['result', result, isError]),
  ]),
]

const summaryOf = ({ compacted }: Turn): Said[] => (compacted === null ? [] : [['summary', compacted]])

/** What the branch of the last turn says, in order. */
export const saidOf = (all: Talk): Said[] =>
  branchOf(all).flatMap((one) => [...turnOf(one), ...summaryOf(one)])

/** What of it the model still sees: the last summary, what it kept, and what came after. */
export function seenOf(all: Talk): Said[] {
  const branch = branchOf(all)
  const index = branch.findLastIndex(({ compacted }) => compacted !== null)
  const last = branch[index]
  const front = last === undefined ? [] : [...summaryOf(last), ...(last.keeps === true ? turnOf(last) : [])]
  return [...front, ...branch.slice(index + 1).flatMap(turnOf)]
}
