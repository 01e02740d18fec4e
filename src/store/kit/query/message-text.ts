import { isObject } from '../../../event/json.ts'
import { isOpenPart, isTextPart, wordsIn, type Content } from '../../../event/shapes.ts'
import { isQuarantined, type Fact } from '../../../event/quarantine.ts'

/**
 * Folds a text so that it can be compared: lower case, σ for a final ς, and U+FFFD for NUL and lone
 * surrogates, which databases cannot store. O(length).
 * @example
 * foldText('ΟΔΟΣ Ab') // 'οδοσ ab'
 */
export function foldText(text: string): string {
  return text
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .replaceAll('\u0000', '\ufffd')
    .replace(/[\ud800-\udfff]/gu, '\ufffd')
}

/**
 * Returns the folded text of a message, with extended content and documents, as lines; null for other facts.
 * O(length).
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'Hello' }, { image_urls: [] }] }
 * messageText({ kind: 'MessageEvent', source: 'user', llm_message, extended_content: [{ text: 'World' }] }) // 'hello\nworld'
 * messageText({ kind: 'PauseEvent' }) // null
 */
export function messageText(fact: Fact): string | null {
  if (isQuarantined(fact) || fact.kind !== 'MessageEvent') return null
  return foldText(partsText(fact.llm_message.content, fact.extended_content))
}

/**
 * Returns the texts of message parts and documents, as lines. Ignores values that are not lists or parts,
 * because a store does not check the content of tool results.
 */
export function partsText(...lists: readonly (readonly Content[] | null | undefined)[]): string {
  const texts: string[] = []
  for (const part of lists.flatMap((parts) => (Array.isArray(parts) ? (parts as Content[]) : []))) {
    if (!isObject(part)) continue
    if (isTextPart(part) && typeof part.text === 'string') texts.push(part.text)
    else if (isOpenPart(part)) texts.push(...wordsIn(part))
  }
  return texts.join('\n')
}
