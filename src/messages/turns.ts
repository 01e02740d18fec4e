/**
 * Reads neutral messages as turns that every provider takes: calls and results pair up under legal ids, and no two
 * replies touch.
 */

import type {
  IdForm,
  Limits,
  UserTurn,
  SystemTurn,
  AssistantTurn,
  Call,
  Result,
  Turn,
  Turns,
  TextPiece,
} from './limits.ts'
import { ColloquyError } from '../event/errors.ts'
import type { AssistantMessage, NeutralMessage, ToolMessage } from './message.ts'
import { partsOf, wordsOf } from './reply-parts.ts'
import { ERROR_LINE, GO_ON, NO_RESULT, OPENING } from './phrases.ts'
import { piecesOf, textPiece, textsOf } from './pieces.ts'
import { toolName } from './text.ts'

/** Room for the number behind a repeated id. */
const ROOM = 8

/**
 * A giver of ids for one request. An id that is legal and new stays as it is. What it gives depends on the ids before
 * only, so that a longer history keeps the ids of a shorter one; it never gives the same id twice. O(1) amortised an
 * id.
 *
 * @example
 * const give = callIds({ illegal: /[^a-z]/g, maxLength: 40 })
 * give('c') // 'c'
 * give('c') // 'c_2'
 */
export function callIds(form: IdForm): (given: string) => string {
  const used = new Set<string>()
  // Counted by what stands before the number, so that no two counters ever meet, however ids were cut.
  const numbers = new Map<string, number>()
  return (given) => {
    const legal = given.replace(form.illegal, '_').slice(0, form.maxLength) || 'call'
    let id = legal
    if (used.has(id)) {
      const stem = legal.slice(0, form.maxLength - ROOM)
      let number = numbers.get(stem) ?? 2
      while (used.has(`${stem}_${number}`)) number += 1
      numbers.set(stem, number + 1)
      id = `${stem}_${number}`
    }
    used.add(id)
    return id
  }
}

/**
 * The turns of a list of messages. Whatever the list holds, each call has one result under its own id: a result that
 * belongs to no call is left out, a call without one gets an error. A reply that another one follows, or nothing, has a
 * fixed user turn behind it, but for one that was paused and goes on: so what stands before a reply is what stood there
 * when it was asked for. Nothing that is added here depends on what is kept or comes later. O(content).
 * @throws ColloquyError `empty_view` when there are no messages.
 */
export function turnsOf(messages: readonly NeutralMessage[], limits: Limits): Turns {
  if (messages.length === 0)
    throw new ColloquyError('empty_view', 'there is nothing to send: no message of the view says anything')
  const giveId = limits.callIds?.() ?? callIds(limits.callId)
  let system: readonly TextPiece[] = []
  /** Whether nothing but system prompts has come so far. */
  let leads = true
  const turns: Turn[] = []
  let waiting: SystemTurn[] = []
  /**
   * Makes room for a reply, or for the end; for a reply of which nothing is written too, since others came behind it.
   */
  const close = (writes: boolean, next?: AssistantTurn): void => {
    const last = turns.at(-1)
    if (last === undefined) turns.push(userTurn(OPENING))
    else if (last.role === 'assistant' && last.calls.length === 0) {
      if (isPaused(last, limits) && !(next !== undefined && beginsTurn(next, last, limits))) return
      turns.push(userTurn(GO_ON))
    }
    // A system message may stand before a reply and at the end, and nowhere else.
    if (!writes) return
    turns.push(...waiting)
    waiting = []
  }
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at]
    if (message === undefined || message.role === 'tool') continue
    if (message.role === 'system') {
      const texts = textsOf(message.content)
      if (leads) system = [...system, ...texts]
      else if (!limits.appends) system = texts
      else if (texts.length > 0) waiting.push({ role: 'system', texts })
      continue
    }
    leads = false
    if (message.role === 'user') {
      const pieces = piecesOf(message.content, limits, 'user')
      const { completes } = message
      if (pieces.length > 0)
        turns.push({
          role: 'user',
          pieces,
          name: message.name,
          ...(completes !== undefined && {
            completes: {
              callId: completes.tool_call_id,
              pieces: piecesOf(completes.content, limits, 'result'),
            },
          }),
        })
    } else {
      const results: ToolMessage[] = []
      const first = at
      for (let next = messages[at + 1]; next?.role === 'tool'; next = messages[at + 1]) {
        results.push(next)
        at += 1
      }
      const turn = assistantTurn(message, first, results, giveId, limits)
      const writes = turn.calls.length > 0 || limits.says(turn)
      close(writes, turn)
      if (writes) turns.push(turn)
    }
  }
  close(true)
  return { system, turns: limits.pairs(turns, limits) }
}

const userTurn = (text: string): UserTurn => ({ role: 'user', pieces: [textPiece(text)], name: null })

/** Whether a reply was paused, and goes on when it is sent back as the last message. */
export const isPaused = ({ message: { reply } }: AssistantTurn, { pauses, grammar }: Limits): boolean =>
  pauses && reply?.grammar === grammar && (reply.outcome === 'paused' || reply.stop_reason === 'pause_turn')

/**
 * Whether a reply begins a turn of its own behind one that was paused, since what stood between them is gone: thinking
 * stands at the start of a turn only. One that records what stood before it, or brings a result, went on with that.
 */
function beginsTurn({ message, refs }: AssistantTurn, paused: AssistantTurn, limits: Limits): boolean {
  if (typeof message.reply?.prefix === 'string' || paused.refs[0]?.kind === 'thinking') return false
  const thinks = refs.some((ref) => ref.kind === 'thinking' && limits.isSigned(message, ref))
  return thinks && !refs.some((ref) => ref.kind === 'other' && limits.pairOf(ref.value)?.half === 'result')
}

function assistantTurn(
  message: AssistantMessage,
  at: number,
  given: readonly ToolMessage[],
  giveId: (id: string) => string,
  limits: Limits,
): AssistantTurn {
  const calls = message.tool_calls.map((source): Call => ({
    id: giveId(source.id),
    name: toolName(source.name, limits.toolNameLength),
    source,
  }))
  const open = new Map<string, Call[]>()
  for (const call of calls.toReversed()) {
    const same = open.get(call.source.id)
    if (same === undefined) open.set(call.source.id, [call])
    else same.push(call)
  }
  const results: Result[] = []
  for (const { tool_call_id, content, is_error, working } of given) {
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
  const left = new Set([...open.values()].flat())
  for (const call of calls) {
    if (left.has(call))
      results.push({ call, pieces: [textPiece(NO_RESULT)], isError: true, isWorking: false })
  }
  const parts = partsOf(message, limits)
  const texts = wordsOf(message, parts.refs)
  return { role: 'assistant', at, message, ...parts, texts, calls, results, waits: false }
}
