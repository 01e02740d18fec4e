/**
 * Holds the calls of a provider's own tools together with their results, since it refuses either without the other:
 * where a history has lost one of them, words stand for both.
 */

import { signedOf, unsent, wordsOf } from './reply-parts.ts'
import type { OtherRef, BlockPiece, AssistantTurn, Limits, Turn } from './limits.ts'
import { inWords, isItem } from './pieces.ts'

/**
 * The turns with a placeholder for each half of a pair whose other half is not where its provider looks for it: behind
 * it in the same reply, in one that goes on with it because that was paused or waited for results, or before all else
 * that the user says next. A reply at the end that still waits keeps its calls; of a pair in `refused` words stand for
 * both halves. What is said of a reply to wait depends on nothing behind it. O(parts).
 */
export function pairParts(
  turns: readonly Turn[],
  limits: Limits,
  refused: ReadonlySet<string> = NONE,
): readonly Turn[] {
  /** The calls that wait for a result, in the replies that go on with each other. */
  const open = new Map<string, { readonly ref: OtherRef; readonly waits: boolean }>()
  const used = new Set<string>()
  const lost = new Set<OtherRef | BlockPiece>()
  const waiting = new Set<Turn>()
  const lose = (all: boolean): void => {
    for (const [id, { ref, waits }] of open) {
      if (!all && waits) continue
      lost.add(ref)
      open.delete(id)
    }
  }
  let isWaiting = false
  for (const turn of turns) {
    if (turn.role !== 'assistant') {
      const pieces = turn.role === 'user' ? turn.pieces : []
      let leads = true
      for (const piece of pieces) {
        const pair = isItem(piece) ? limits.pairOf(piece.block) : null
        leads = leads && pair !== null && open.delete(pair.id)
        if (isItem(piece) && pair !== null && !leads) lost.add(piece)
      }
      lose(true)
      isWaiting = false
      continue
    }
    for (const ref of turn.refs) {
      const pair = ref.kind === 'other' && ref.placeholder === null ? limits.pairOf(ref.value) : null
      if (ref.kind !== 'other' || pair === null) continue
      const { half, id, waits } = pair
      if (half === 'result') {
        if (!open.delete(id)) lost.add(ref)
      } else if (used.has(id) || refused.has(id)) lost.add(ref)
      else {
        used.add(id)
        open.set(id, { ref, waits })
      }
    }
    lose(false)
    if (open.size > 0) waiting.add(turn)
    isWaiting = true
  }
  // At the end a reply waits that was paused, or whose own calls have their results.
  if (!isWaiting) lose(true)
  return lost.size === 0 && waiting.size === 0
    ? turns
    : turns.map((turn): Turn => {
        if (turn.role === 'assistant') return { ...without(turn, lost, limits), waits: waiting.has(turn) }
        if (turn.role === 'system') return turn
        const pieces = turn.pieces.map((piece) =>
          isItem(piece) && lost.has(piece) ? inWords(piece, limits) : piece,
        )
        return { ...turn, pieces }
      })
}

const NONE: ReadonlySet<string> = new Set()

function without(turn: AssistantTurn, lost: ReadonlySet<unknown>, limits: Limits): AssistantTurn {
  const { message, refs } = turn
  const said = refs.flatMap((ref) => (ref.kind === 'other' && lost.has(ref) ? unsent(ref) : [ref]))
  return { ...turn, ...signedOf(message, said, limits), texts: wordsOf(message, said) }
}
