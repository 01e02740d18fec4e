/**
 * Merges overlapping matches before masking: two patterns that overlap would otherwise leave part of a secret
 * readable.
 */

import { splits } from '../text.ts'

/** How sure a finding is of what the secret is: where several overlap, the surest names it. */
export type Rank = 'literal' | 'pattern' | 'field'

/** A place in a text and the secret that it holds, decoded. */
export interface Hit {
  readonly start: number
  readonly end: number
  readonly secret: string
  readonly rank: Rank
}

/** Is given a hit. */
export type OnHit = (start: number, end: number, secret: string, rank: Rank) => void

/** Finds something in a text and gives each hit. O(length). */
export type Finder = (text: string, report: OnHit) => void

const ORDER: Readonly<Record<Rank, number>> = { literal: 0, pattern: 1, field: 2 }

const isSurer = (a: Hit, b: Hit): boolean =>
  ORDER[a.rank] !== ORDER[b.rank] ? ORDER[a.rank] < ORDER[b.rank] : a.end - a.start > b.end - b.start

/**
 * Hits in ascending order that do not overlap: overlapping ones are one, named by the surest of them, the longest of
 * equals. What lies inside a mask is none; what reaches over a mask takes it in whole. O(hits · log hits + masks).
 */
export function mergeHits(
  hits: readonly Hit[],
  masks: readonly (readonly [start: number, end: number])[],
  text: string,
): Hit[] {
  const merged: { start: number; end: number; name: Hit }[] = []
  let at = 0
  for (const hit of hits.toSorted((a, b) => a.start - b.start)) {
    while (at < masks.length && (masks[at] as readonly [number, number])[1] <= hit.start) at += 1
    let { start, end } = wholeCharacters(hit, text)
    const first = masks[at]
    if (first !== undefined && first[0] <= start && end <= first[1]) continue
    for (let i = at; i < masks.length; i += 1) {
      const [from, to] = masks[i] as readonly [number, number]
      if (from >= end) break
      start = Math.min(start, from)
      end = Math.max(end, to)
    }
    const last = merged.at(-1)
    if (last === undefined || start >= last.end) merged.push({ start, end, name: hit })
    else {
      last.end = Math.max(last.end, end)
      if (isSurer(hit, last.name)) last.name = hit
    }
  }
  return merged.map(({ start, end, name }) => ({ ...name, start, end }))
}

/** The range with no half of a surrogate pair left outside. */
function wholeCharacters({ start, end }: Hit, text: string): { start: number; end: number } {
  return { start: splits(text, start) ? start - 1 : start, end: splits(text, end) ? end + 1 : end }
}
