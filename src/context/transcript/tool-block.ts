/** The text of a tool call: name, outcome, arguments and output. */

import { ellipsize } from '../ellipsize.ts'

/** A tool call as a transcript shows it. */
export interface ToolBlock {
  readonly name: string
  readonly status: string
  /** What there is to show, in order; null for what is not. */
  readonly sections: readonly (readonly [label: string, text: string | null])[]
}

/** The block as text, at most `max` UTF-16 units of it. O(max · sections). */
export function toolText({ name, status, sections }: ToolBlock, max: number): string {
  const shown = sections.flatMap(([label, text]) =>
    text === null ? [] : [section(label, ellipsize(text, max))],
  )
  return ellipsize(
    [`[TOOL USE: ${ellipsize(name, max)}] (${ellipsize(status, max)})`, ...shown].join('\n'),
    max,
  )
}

const section = (label: string, text: string): string =>
  text.includes('\n') ? `  ${label}:\n${indented(text)}` : `  ${label}: ${text}`

const indented = (text: string): string => `    ${text.trimEnd().replaceAll('\n', '\n    ')}`
