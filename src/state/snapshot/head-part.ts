/** The head part of a snapshot: the record of the state, and the bodies that it still needs or their positions. */

import { freezeJson } from '../../event/freeze.ts'
import type { JsonValue } from '../../event/shapes.ts'
import type { Event } from '../../event/types.ts'
import { aligned, seal, unseal } from '../../log/columnar/sealed.ts'
import { bytesOf, Texts, wordsIn, writeTexts } from '../../log/columnar/texts.ts'
import type { StateRecord } from './record.ts'
import { HEAD_LABEL } from './version.ts'

/** What a head part holds. */
export interface Head {
  readonly record: StateRecord
  readonly bodies: ReadonlyMap<number, Event>
  /** The positions of the bodies that it needs and does not hold. */
  readonly lacking: readonly number[]
}

/** The head part as bytes. O(view). @param holds whether the bodies are in it, or only their positions */
export function writeHead(
  record: StateRecord,
  bodies: ReadonlyMap<number, Event>,
  holds: boolean,
): Uint8Array {
  return seal(HEAD_LABEL, [
    new TextEncoder().encode(JSON.stringify(record)),
    bytesOf(Int32Array.from(bodies.keys())),
    ...writeTexts(holds ? [...bodies.values()].map((body) => JSON.stringify(body)) : []),
  ])
}

/** What the bytes hold; null when they are damaged, of another version or no head part. O(view). */
export function readHead(bytes: Uint8Array): Head | null {
  const [text, positions, ends, texts] = unseal(HEAD_LABEL, aligned(bytes)) ?? []
  if (text === undefined || positions === undefined || ends === undefined || texts === undefined) return null
  const record = parse<StateRecord>(new TextDecoder().decode(text))
  const lines = new Texts(ends, texts)
  const bodies = new Map<number, Event>()
  if (lines.count === 0) return { record, bodies, lacking: [...wordsIn(positions)] }
  for (const [index, seq] of wordsIn(positions).entries()) bodies.set(seq, parse<Event>(lines.at(index)))
  return { record, bodies, lacking: [] }
}

/** JSON that this module wrote, frozen as every event and header is. */
function parse<T>(text: string): T {
  const value = JSON.parse(text) as JsonValue
  freezeJson(value)
  return value as T
}
