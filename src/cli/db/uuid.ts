/** The two forms of a UUID as one: agent servers write ids with and without dashes. */

const UUID = /^([0-9a-f]{8})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{4})-?([0-9a-f]{12})$/i

/** A UUID with dashes and in small letters; any other text as it is. */
export const dashed = (id: string): string => {
  const parts = UUID.exec(id)
  return parts === null ? id : parts.slice(1).join('-').toLowerCase()
}

/** A UUID without dashes; any other text as it is. */
export const undashed = (id: string): string => (UUID.test(id) ? dashed(id).replaceAll('-', '') : id)

/** The form of a UUID that a text is not written in; null for any other text. */
export function otherUuidForm(id: string): string | null {
  if (!UUID.test(id)) return null
  return id === dashed(id) ? undashed(id) : dashed(id)
}
