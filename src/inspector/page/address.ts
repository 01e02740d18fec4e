/** What the address says behind its `#`: the log or the conversation that is open, and the event in it. */

/** What an address can name. */
export type Named = 'log' | 'conversation' | 'event' | 'at'

/** What the address names; null where it does not. */
export const named = (name: Named): string | null => new URLSearchParams(location.hash.slice(1)).get(name)

/** The address with other names in it; null takes one out. */
export function linkWith(changes: Readonly<Partial<Record<Named, string | null>>>): string {
  const names = new URLSearchParams(location.hash.slice(1))
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) names.delete(name)
    else names.set(name, value)
  }
  return `#${names.toString()}`
}

/** Writes it, without a step of the history. */
export function rename(changes: Readonly<Partial<Record<Named, string | null>>>): void {
  const link = linkWith(changes)
  if (link !== location.hash) history.replaceState(null, '', link)
}
