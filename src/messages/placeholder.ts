/** What stands for a part that a grammar has no place for: its name, never silence. Changing it changes prefixes. */

import type { OpenPart } from '../event/shapes.ts'
import { isWhitespace, wellFormed } from './text.ts'

/** Longer kinds and names say no more. */
const LONGEST = 100

/**
 * What a part is called: its kind, and the title, the name of its file or of the tool that it bears. O(1).
 *
 * @example
 * partName({ type: 'document', title: 'Plan' }) // 'document "Plan"'
 */
export function partName(part: OpenPart): string {
  const { type, title, filename, file, tool_name } = part
  const inner = typeof file === 'object' && file !== null && 'filename' in file ? file.filename : null
  const name = [title, filename, inner, tool_name].find(
    (each) => typeof each === 'string' && !isWhitespace(each),
  )
  return typeof name === 'string' ? `${oneLine(type)} "${oneLine(name)}"` : oneLine(type)
}

/** The text in place of a part that cannot be sent. O(1). */
export const placeholderOf = (part: OpenPart): string =>
  `[A part that cannot be shown here: ${partName(part)}.]`

/** The beginning of a text, on one line. */
const oneLine = (text: string): string =>
  wellFormed(text.slice(0, LONGEST).replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' '))
