/** What counts as text: nothing but white space is none. */

/** Whether a text says anything at all. */
export const hasText = (text: string | null | undefined): boolean =>
  text !== null && text !== undefined && text.trim() !== ''
