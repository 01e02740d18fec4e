import { type Content, isImagePart, isTextPart } from '../event/shapes.ts'
import { partName } from '../messages/pieces.ts'
const DOTS = '...'

/** Cuts a text to `max` UTF-16 units, including three dots that mark the cut. */
export function ellipsize(text: string, max: number): string {
  if (text.length <= max) return text
  if (max <= DOTS.length) return DOTS.slice(0, Math.max(0, max))
  return head(text, max - DOTS.length) + DOTS
}

/** Returns the first `max` UTF-16 units of a text; one fewer if the last unit would be half a surrogate pair. */
export function head(text: string, max: number): string {
  return text.slice(0, splits(text, max) ? max - 1 : Math.max(0, max))
}

/** Returns the last `max` UTF-16 units of a text; one fewer if the first unit would be half a surrogate pair. */
export function tail(text: string, max: number): string {
  const from = Math.max(0, text.length - Math.max(0, max))
  return text.slice(splits(text, from) ? from + 1 : from)
}

/** Whether an index is between the two halves of a surrogate pair. */
export const splits = (text: string, index: number): boolean => (text.codePointAt(index - 1) ?? 0) > 0xffff

export const textsOf = (content: readonly Content[]): string[] =>
  content.flatMap((part) => (isTextPart(part) ? [part.text] : []))

export const shownOf = (content: readonly Content[]): string[] =>
  content.map((part) => {
    if (isTextPart(part)) return part.text
    return isImagePart(part) ? imagesOf(part.image_urls.length) : `[${partName(part)}]`
  })

const imagesOf = (count: number): string => `[Image: ${count} ${count === 1 ? 'URL' : 'URLs'}]`
