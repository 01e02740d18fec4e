/** Ids for new conversations: clients of the interface read them as UUIDs. */

/** Most that the counter of a millisecond holds: 12 bits. */
const MOST = 0xfff

let last = 0
let counter = 0

/**
 * A UUID of version 7 (RFC 9562): its first 48 bits are the time in milliseconds, the next 12 count within one, from a
 * random number on. So the ids of a process sort by when they were made, also when its clock
 * stands still or goes back.
 * @example
 * newConversationId().length // 36
 */
export function newConversationId(now = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  const [high = 0, low = 0] = bytes.subarray(6, 8)
  if (now > last || counter === MOST) {
    last = Math.max(now, last + 1)
    // Its first bit is left free, for those to come.
    counter = ((high & 0x07) << 8) | low
  } else counter += 1
  for (let at = 0; at < 6; at += 1) bytes[at] = Math.floor(last / 2 ** (8 * (5 - at))) % 256
  bytes[6] = 0x70 | (counter >> 8)
  bytes[7] = counter & 0xff
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
