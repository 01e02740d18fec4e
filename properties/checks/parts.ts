/** M14: parts that a grammar cannot express are named instead. */

import { isOpenPart, type Content, type OpenPart } from '../../src/event/shapes.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import { withoutBytes } from '../../src/messages/bedrock/blocks.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { placeholderOf } from '../../src/messages/pieces.ts'
import { replay } from '../../src/state/reduce.ts'
import { hold, total } from '../../src/testing/failure.ts'
import { GRAMMARS } from './messages.ts'

/** M14: each part other than text or an image is sent whole, as its contents, or by name. */
export function checkParts(facts: readonly Fact[]): void {
  const messages = toMessages(replay(facts))
  const parts = messages.flatMap(({ content }) => (content as readonly Content[]).filter(isOpenPart))
  if (parts.length === 0) return
  for (const { name, write } of GRAMMARS) {
    const request = JSON.stringify(withoutBytes(total('M6', name, () => write(messages))))
    for (const part of parts) {
      const isThere =
        request.includes(inJson(placeholderOf(part))) || heldBy(part).some((text) => request.includes(text))
      hold('M14', isThere, () => `${name} omits ${JSON.stringify(part)}: ${request}`)
    }
  }
}

/** Any one of these texts shows that the part is present. */
function heldBy(part: OpenPart): string[] {
  const { cache_prompt: _, cache_control: __, ...fields } = part
  const matches = [JSON.stringify(fields).slice(0, -1), inJson('[An image that cannot be shown here.]')]
  const look = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    for (const [key, inner] of Object.entries(value)) {
      if (typeof inner === 'string' && key !== 'type' && inner.trim().length > 3)
        matches.push(inJson(inner.trim().replace(DATA_URL, '')))
      look(inner)
    }
  }
  look(fields)
  return matches
}

const DATA_URL = /^data:[^,]*,(?=.)/

const inJson = (text: string): string => JSON.stringify(text).slice(1, -1)
