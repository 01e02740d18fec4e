/** Finds the places to mask in a text, in every way in which it may be read. */

import { type Finder, type Hit, mergeHits } from './hit.ts'
import { masksIn, type Masker } from './mask.ts'
import { viewsOf } from './views.ts'

/**
 * The places of secrets in a text, ascending, without overlap and apart from masks; null when the text is encoded more
 * often than is looked into. What base64 stands for is looked through for literal secrets alone: patterns would find
 * things in what is noise. O(length) for each way to decode it.
 */
export function findSecrets(
  text: string,
  finders: readonly Finder[],
  literalFinders: readonly Finder[],
): Hit[] | null {
  if (finders.length === 0) return []
  const hits: Hit[] = []
  for (const view of viewsOf(text, literalFinders.length > 0)) {
    if (view === null) return null
    for (const find of view.fromBase64 ? literalFinders : finders) {
      find(view.text, (start, end, secret, rank) => {
        const [from, to] = view.sourceOf(start, end)
        hits.push({ start: from, end: to, secret, rank })
      })
    }
  }
  return hits.length === 0 ? hits : mergeHits(hits, masksIn(text), text)
}

/** The text with a mask at each place. O(length). */
export function maskHits(text: string, hits: readonly Hit[], mask: Masker): string {
  // The same secret may stand in each line, and a keyed hash costs a thousand times a look-up.
  const masks = new Map<string, string>()
  let out = ''
  let last = 0
  for (const { start, end, secret } of hits) {
    let own = masks.get(secret)
    if (own === undefined) masks.set(secret, (own = mask(secret)))
    out += text.slice(last, start) + own
    last = end
  }
  return out + text.slice(last)
}
