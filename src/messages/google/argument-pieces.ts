/** Puts the arguments of a call together from the pieces in which a stream brings them, each under a JSON Path. */

import { quoteEnd } from '../../event/json.ts'
import { type Found, objectsOf, stringOf } from '../found.ts'

/** The arguments of one call on their way. */
export interface ArgumentPieces {
  /** Takes what a chunk says of the call. */
  readonly add: (call: Found) => void
  /** Whether more is to come. */
  readonly isOpen: () => boolean
  /** The arguments so far; a text that is no JSON where a piece had no place. */
  readonly value: () => unknown
}

/** The names and indexes of a path, from the root. */
type Path = readonly (string | number)[]

/** The pieces of one call. Each costs O(its length). */
export function argumentPieces(): ArgumentPieces {
  const root = newObject()
  let isOpen = true
  let isSound = true
  return {
    add: (call) => {
      isOpen = call['willContinue'] === true
      for (const piece of objectsOf(call['partialArgs'])) {
        const path = readPath(stringOf(piece['jsonPath']))
        if (path === null || !put(root, path, piece)) isSound = false
      }
    },
    isOpen: () => isOpen,
    value: () =>
      isSound ? (JSON.parse(JSON.stringify(root)) as unknown) : '(in pieces that do not fit together)',
  }
}

/** Without a prototype, so that any name is a name like others. */
const newObject = (): Record<string, unknown> => Object.create(null) as Record<string, unknown>

/** A step of a path; of one in quotes its beginning alone: an engine runs out of stack on a pattern of a long one. */
const STEP = /\.([\p{L}_$][\p{L}\p{N}_$-]*)|\[(\d{1,9})\]|\[(['"])/uy

function readPath(text: string): Path | null {
  if (!text.startsWith('$')) return null
  const path: (string | number)[] = []
  for (let at = 1; at < text.length; at = STEP.lastIndex) {
    STEP.lastIndex = at
    const match = STEP.exec(text)
    if (match === null) return null
    const [, name, index, quote] = match
    if (name !== undefined) path.push(name)
    else if (index !== undefined) path.push(Number(index))
    else {
      const start = STEP.lastIndex
      const end = quoteEnd(text, start - 1)
      const inner = text.slice(start, end)
      const quoted = unescaped(
        quote === '"' ? inner : inner.replaceAll(/\\'|"/g, (found) => (found === '"' ? '\\"' : "'")),
      )
      if (quoted === null || text[end] !== quote || text[end + 1] !== ']') return null
      path.push(quoted)
      STEP.lastIndex = end + 2
    }
  }
  return path
}

function unescaped(text: string): string | null {
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return null
  }
}

/** Puts a piece where it belongs; false where it has no place there. */
function put(root: object, path: Path, piece: Found): boolean {
  let place: unknown = root
  for (const [depth, step] of path.entries()) {
    if (!holds(place, step)) return false
    const next = path[depth + 1]
    const slots = place as Record<string | number, unknown>
    if (next !== undefined) place = slots[step] ??= typeof next === 'number' ? [] : newObject()
    else return set(slots, step, piece)
  }
  return false
}

/** Whether a step leads into a value: a name into an object, an index into a list, at its end at most. */
const holds = (place: unknown, step: string | number): boolean =>
  Array.isArray(place)
    ? typeof step === 'number' && step <= place.length
    : typeof step === 'string' &&
      typeof place === 'object' &&
      place !== null &&
      !(place instanceof StreamedText)

function set(slots: Record<string | number, unknown>, step: string | number, piece: Found): boolean {
  const { stringValue, numberValue, boolValue, nullValue } = piece
  if (typeof stringValue === 'string') {
    const before = slots[step]
    if (before instanceof StreamedText) before.add(stringValue)
    else slots[step] = new StreamedText(stringValue)
    return true
  }
  const value = typeof numberValue === 'number' ? numberValue : boolValue
  if (value !== undefined) slots[step] = value
  else if (nullValue !== undefined) slots[step] = null
  return true
}

/** A text that may go on; joined when it is written, so that the cost is linear. */
class StreamedText {
  readonly #pieces: string[]
  constructor(first: string) {
    this.#pieces = [first]
  }
  add(piece: string): void {
    this.#pieces.push(piece)
  }
  toJSON(): string {
    return this.#pieces.join('')
  }
}
