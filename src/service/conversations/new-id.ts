/** Ids for new conversations: clients of the interface read them as UUIDs. */

/**
 * A UUID of version 7 (RFC 9562): its first 48 bits are the time in milliseconds, so that ids sort by when they were
 * made.
 * @example
 * newConversationId().length // 36
 */
export function newConversationId(now = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  for (let at = 0; at < 6; at += 1) bytes[at] = Math.floor(now / 2 ** (8 * (5 - at))) % 256
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
