/** Knows files of other forms by how they begin, so that they are named in place of being read as text. */

/** How many bytes tell it. */
export const TELLING = 16

const OTHERS: readonly { readonly start: Buffer; readonly what: string }[] = [
  { start: Buffer.from('SQLite format 3\0'), what: 'a SQLite database: use --db' },
  { start: Buffer.from([0x1f, 0x8b]), what: 'compressed with gzip: unpack it first' },
  { start: Buffer.from('PK\u0003\u0004'), what: 'a zip: give it as a file, not on standard input' },
  { start: Buffer.from([0xff, 0xfe]), what: 'UTF-16 text: save it as UTF-8' },
  { start: Buffer.from([0xfe, 0xff]), what: 'UTF-16 text: save it as UTF-8' },
]

/** What a file is that begins so, and what to do about it; null for what may be text. */
export const otherForm = (head: Buffer): string | null =>
  OTHERS.find(({ start }) => head.subarray(0, start.length).equals(start))?.what ?? null
