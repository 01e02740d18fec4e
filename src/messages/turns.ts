/**
 * Reads neutral messages as turns that every provider accepts: calls match results under legal ids, and no
 * two replies are adjacent.
 */

import type { IdForm, Limits, UserTurn, SystemTurn, AssistantTurn, Call, Result, Turn } from './limits.ts'
import type { AssistantMessage, NeutralMessage, ToolMessage } from './message.ts'
import { partsOf, textPiecesOf } from './reply-parts.ts'
import { ERROR_LINE, GO_ON, NO_RESULT, OPENING } from './phrases.ts'
import { piecesOf, textPiece, textPieces } from './pieces.ts'
import { isOfModel, type NewMap } from './prefix.ts'
import { toolName } from './text.ts'

/** Characters reserved for the number that is added to a repeated id. */
const SUFFIX_LENGTH = 8

/**
 * Returns a function that makes a request's call ids. It returns a legal id unchanged if the id is new, and
 * returns no id twice. An id depends only on the ids before it, so it does not change when the history grows.
 * With `isWhole`, the maximum length does not apply. O(1) amortised per id.
 * @example
 * const makeId = callIds({ illegal: /[^a-z]/g, maxLength: 40 })
 * makeId('c') // 'c'
 * makeId('c') // 'c_2'
 */
export function callIds(
  form: IdForm,
  newMap: NewMap = () => new Map(),
): (logId: string, isWhole?: unknown) => string {
  const used = newMap<true>()
  // Next suffix number of each stem. Ids cut to the same stem share a counter, so the new ids cannot collide.
  const numbers = newMap<number>()
  return (logId, isWhole) => {
    const limit = isWhole === true ? undefined : form.maxLength
    let id = logId.replace(form.illegal, '_').slice(0, limit) || 'call'
    if (used.has(id)) {
      const stem = id.slice(0, form.maxLength - SUFFIX_LENGTH)
      let number = numbers.get(stem) ?? 2
      for (; used.has(id); number += 1) id = `${stem}_${number}`
      numbers.set(stem, number)
    }
    used.set(id, true)
    return id
  }
}

export interface TurnReader {
  readonly state: { readonly last: Turn | undefined }
  readonly read: (messages: readonly NeutralMessage[], index: number) => number
  /** Ends the conversation with a turn that a model can reply to. */
  readonly close: () => void
  /** Returns the turns since the last call of this function. */
  readonly take: () => readonly Turn[]
}

/**
 * Returns a reader of turns. Each call has exactly one result: a result without a call is left out, and a
 * call without a result gets an error. If no user message follows a reply without calls, the reader adds a
 * user turn with a fixed text. After a paused reply, it does so only if the next reply does not continue this
 * one. No later message changes the turns before a reply, so the reply's prefix stays the same. O(content).
 */
export function turnReader(
  limits: Limits,
  newMap: NewMap,
  refused: ReadonlySet<string> = new Set(),
  model?: string,
): TurnReader {
  const makeId = limits.callIds?.() ?? callIds(limits.callId, newMap)
  const pairState = { refused, used: newMap<true>() }
  let turns: Turn[] = []
  const state: { last: Turn | undefined; waiting: readonly SystemTurn[] } = { last: undefined, waiting: [] }
  const push = (turn: Turn): void => {
    turns.push((state.last = turn))
  }
  /**
   * Adds a user turn if one must precede `next` or the request's end. With `writes`, also adds waiting system turns.
   */
  const close = (writes: boolean, next?: AssistantTurn): void => {
    const { last } = state
    if (last === undefined) push(userTurn(OPENING))
    else if (last.role === 'assistant' && last.calls.length === 0) {
      if (limits.resumes?.(last, next, limits) === true) return
      push(userTurn(GO_ON))
    }
    // A system message may be before a reply or at the end, nowhere else.
    if (!writes) return
    state.waiting.forEach(push)
    state.waiting = []
  }
  return {
    state,
    read(messages, index) {
      const message = messages[index]
      let next = index + 1
      if (message === undefined || message.role === 'tool') return next
      if (message.role === 'system') {
        const texts = textPieces(message.content)
        if (limits.appends && texts.length > 0) state.waiting = [...state.waiting, { role: 'system', texts }]
      } else if (message.role === 'user') {
        const { content, name, completes } = message
        const pieces = piecesOf(content, limits, 'user')
        if (pieces.length > 0)
          push({
            role: 'user',
            pieces,
            name,
            ...(completes !== undefined && {
              completes: {
                callId: completes.tool_call_id,
                pieces: piecesOf(content.slice(1), limits, 'result'),
              },
            }),
          })
      } else {
        const results: ToolMessage[] = []
        for (let result = messages[next]; result?.role === 'tool'; result = messages[next]) {
          results.push(result)
          next += 1
        }
        const turn = assistantTurn(message, index, results, makeId, limits, model)
        const writes = turn.calls.length > 0 || limits.hasOutput(turn)
        close(writes, turn)
        if (writes) push(turn)
      }
      return next
    },
    close: () => close(true),
    take() {
      const taken = turns
      turns = []
      return limits.pairs(taken, limits, pairState)
    },
  }
}

const userTurn = (text: string): UserTurn => ({ role: 'user', pieces: [textPiece(text)], name: null })

export const isPaused = ({ message: { reply } }: AssistantTurn, { grammar }: Limits): boolean =>
  reply?.grammar === grammar && (reply.outcome === 'paused' || reply.stop_reason === 'pause_turn')

export const resumesPaused: NonNullable<Limits['resumes']> = (last, next, limits) =>
  isPaused(last, limits) && (next === undefined || !beginsTurn(next, last, limits))

/**
 * Whether a reply after a paused reply begins a new turn. This happens if the messages between the two
 * replies were removed. If the later reply has signed thinking and the paused reply does not begin with
 * thinking, the later reply begins a turn, because only a turn that begins with thinking can contain
 * thinking. But a later reply that has a recorded prefix, or a result of a provider tool, continues the
 * paused reply.
 */
function beginsTurn({ message, refs }: AssistantTurn, paused: AssistantTurn, limits: Limits): boolean {
  if (typeof message.reply?.prefix === 'string' || paused.refs[0]?.kind === 'thinking') return false
  const thinks = refs.some((ref) => ref.kind === 'thinking' && limits.isSigned(message, ref))
  return thinks && !refs.some((ref) => ref.kind === 'other' && limits.pairOf(ref.value)?.half === 'result')
}

function assistantTurn(
  message: AssistantMessage,
  index: number,
  toolMessages: readonly ToolMessage[],
  makeId: ReturnType<typeof callIds>,
  limits: Limits,
  model?: string,
): AssistantTurn {
  // Some servers put a signature into an id, which is then longer than other servers accept.
  const isOwn = isOfModel(message, limits.grammar, model)
  const calls = message.tool_calls.map((source): Call => ({
    id: makeId(source.id, isOwn),
    name: toolName(source.name, limits.toolNameLength),
    source,
  }))
  const open = Map.groupBy(calls.toReversed(), ({ source }) => source.id)
  const results: Result[] = []
  for (const { tool_call_id, content, is_error, working } of toolMessages) {
    const call = open.get(tool_call_id)?.pop()
    if (call === undefined) continue
    const pieces = piecesOf(content, limits, 'result')
    const silent = is_error && pieces.length === 0
    results.push({
      call,
      pieces: silent ? [textPiece(ERROR_LINE)] : pieces,
      isError: is_error,
      isWorking: working === true,
    })
  }
  const unmatched = new Set([...open.values()].flat())
  for (const call of calls) {
    if (unmatched.has(call))
      results.push({ call, pieces: [textPiece(NO_RESULT)], isError: true, isWorking: false })
  }
  const parts = partsOf(message, limits)
  const texts = textPiecesOf(message, parts.refs)
  return { role: 'assistant', index, message, ...parts, texts, calls, results, waits: false }
}
