/** The text of content parts. */

import type { Content } from '../event/shapes.ts'
import { isImage } from '../messages/message.ts'

/** The texts of some content, images left out. O(content). */
export const textsOf = (content: readonly Content[]): string[] =>
  content.flatMap((part) => (isImage(part) ? [] : [part.text]))

/** The texts of some content, and for images how many there are. O(content). */
export const shownOf = (content: readonly Content[]): string[] =>
  content.map((part) => (isImage(part) ? imagesOf(part.image_urls.length) : part.text))

const imagesOf = (count: number): string => `[Image: ${count} ${count === 1 ? 'URL' : 'URLs'}]`
