/** Holds references to tools in results against the tool list: the provider refuses one to a tool that is not there. */

import { toolGone } from '../phrases.ts'
import { type Piece, textPiece } from '../pieces.ts'
import type { Result } from '../turns.ts'

/**
 * A giver of results for one request: each reference to a tool that the list lacks is a sentence. Where the list is not
 * known, or has a set of tools that names none, all are taken to be there. O(pieces) a result.
 */
export function referring(tools?: readonly object[]): (result: Result) => Result {
  const names = new Set(tools?.map((tool) => (tool as { readonly name?: unknown }).name))
  if (tools === undefined || names.has(undefined)) return (result) => result
  const held = (piece: Piece): Piece => {
    if (piece.type !== 'block' || piece.block['type'] !== 'tool_reference') return piece
    const name = piece.block['tool_name']
    return names.has(name) ? piece : textPiece(toolGone(String(name)), piece.cache, piece.source)
  }
  return (result) => ({ ...result, pieces: result.pieces.map(held) })
}
