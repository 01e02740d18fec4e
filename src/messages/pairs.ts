/** Matches calls and results of provider tools. Replaces an unmatched call or result with text. */

import { signedOf, unsent, textPiecesOf } from './reply-parts.ts'
import type { OtherRef, BlockPiece, AssistantTurn, Limits, PairHalf, PairState, Turn } from './limits.ts'
import { itemAsText, isItem } from './pieces.ts'

/** Makes half of a pair. Calls of different kinds may share an id, so `kind` is part of the pair's id. */
export const pairHalf = (half: PairHalf['half'], kind: string, id: unknown): PairHalf | null =>
  typeof id === 'string' ? { half, id: `${kind} ${id}`, waits: true } : null

/**
 * Returns the turns, with a placeholder for each half of a pair whose other half is missing or misplaced. A
 * result must follow its call: in the same reply, in a continuation of this reply, or at the start of the
 * next user turn. If the last turn is a reply that waits for results, the reply keeps its calls. Placeholders
 * also replace both halves of `refused` pairs, and calls whose ids were `used` before. Whether a reply waits
 * does not depend on later turns. O(parts).
 */
export function pairParts(
  turns: readonly Turn[],
  limits: Limits,
  { refused, used }: PairState,
): readonly Turn[] {
  const open = new Map<string, { readonly ref: OtherRef; readonly waits: boolean }>()
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
        used.set(id, true)
        open.set(id, { ref, waits })
      }
    }
    lose(false)
    if (open.size > 0) waiting.add(turn)
    isWaiting = true
  }
  // A reply at the end is paused or has results for its own calls, so calls of provider tools can still wait.
  if (!isWaiting) lose(true)
  return lost.size === 0 && waiting.size === 0
    ? turns
    : turns.map((turn): Turn => {
        if (turn.role === 'assistant') return { ...withoutLost(turn, lost, limits), waits: waiting.has(turn) }
        if (turn.role === 'system') return turn
        const pieces = turn.pieces.map((piece) =>
          isItem(piece) && lost.has(piece) ? itemAsText(piece, limits) : piece,
        )
        return { ...turn, pieces }
      })
}

function withoutLost(turn: AssistantTurn, lost: ReadonlySet<unknown>, limits: Limits): AssistantTurn {
  const { message, refs } = turn
  const remaining = refs.flatMap((ref) => (ref.kind === 'other' && lost.has(ref) ? unsent(ref) : [ref]))
  return { ...turn, ...signedOf(message, remaining, limits), texts: textPiecesOf(message, remaining) }
}
