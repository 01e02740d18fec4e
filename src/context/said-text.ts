/** The text of content parts. */

import { isImagePart, isTextPart, type Content } from '../event/shapes.ts'
import { partName } from '../messages/placeholder.ts'

/** The texts of some content, images and other parts left out. O(content). */
export const textsOf = (content: readonly Content[]): string[] =>
  content.flatMap((part) => (isTextPart(part) ? [part.text] : []))

/** The texts of some content, for images how many there are, and other parts by their names. O(content). */
export const shownOf = (content: readonly Content[]): string[] =>
  content.map((part) => {
    if (isTextPart(part)) return part.text
    return isImagePart(part) ? imagesOf(part.image_urls.length) : `[${partName(part)}]`
  })

const imagesOf = (count: number): string => `[Image: ${count} ${count === 1 ? 'URL' : 'URLs'}]`
