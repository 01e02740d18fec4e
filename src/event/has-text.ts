/** What counts as text, said once for all: nothing but white space is none. */

/**
 * White space as JavaScript or Python see it: the second also takes U+001C to U+001F and U+0085, and checks most
 * requests. For a class of a regular expression.
 */
export const SPACES = '\\s\\u0085\\u001c-\\u001f'

const INK = new RegExp(`[^${SPACES}]`, 'u')

/** Whether a text is nothing but white space. O(length). */
export const isWhitespace = (text: string): boolean => !INK.test(text)

/** Whether a text says anything at all. */
export const hasText = (text: string | null | undefined): boolean =>
  text !== null && text !== undefined && !isWhitespace(text)
