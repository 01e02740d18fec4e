import { mapDeep } from '../event/json.ts'
import { BLOB_TEXT } from '../event/text.ts'

/**
 * Returns messages in which long strings replace the references to them. Each string is read once. A
 * reference remains if `read` returns null. Never changes its input. O(size + bytes of the strings).
 * @param read reads a string by its hash, as `blobReader` of the store kit does for one conversation
 * @example
 * const hash = 'ab'.repeat(32)
 * const content = [{ type: 'image', image_urls: [`colloquy:blob/${hash}`] }]
 * const [message] = await resolveBlobs([{ role: 'user', content, name: null }], async () => 'data:image/png;base64,QUJD')
 * message.content[0].image_urls // ['data:image/png;base64,QUJD']
 */
export async function resolveBlobs<M extends object>(
  messages: readonly M[],
  read: (hash: string) => Promise<string | null>,
): Promise<readonly M[]> {
  const hashes = new Set<string>()
  mapStrings(messages, (text) => {
    for (const [, hash = ''] of text.matchAll(BLOB_TEXT)) hashes.add(hash)
    return text
  })
  if (hashes.size === 0) return messages
  const texts = new Map<string, string>()
  for (const hash of hashes) {
    const text = await read(hash)
    if (text !== null) texts.set(hash, text)
  }
  const resolve = (text: string): string =>
    text.replaceAll(BLOB_TEXT, (reference, hash: string) => texts.get(hash) ?? reference)
  return mapStrings(messages, resolve) as readonly M[]
}

/** Applies `change` to the strings of a value. Does not copy objects and lists in which no string changed. */
export const mapStrings = (value: unknown, change: (text: string) => string): unknown =>
  mapDeep(value, (each) => (typeof each === 'string' ? change(each) : each))
