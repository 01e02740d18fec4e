/** Redacts a conversation's record, within its bounds. */

import { copyJson } from '../../event/freeze.ts'
import type { JsonObject } from '../../event/shapes.ts'
import type { ConversationPatch } from '../../store/contract/conversation-record.ts'
import { redactJson } from './redact.ts'
import type { RedactionRules } from './rules.ts'
import { redactText } from './redact-text.ts'

/** How many characters a record takes of a title, and of a tag's value and key. */
const MAX_TITLE = 200
const MAX_TAG = 256
const MAX_TAG_KEY = 100

/**
 * A new record or a patch with title, tags and metadata redacted; the very same object when they hold no secret. A mask
 * may be longer than what it stands for: what was short enough is cut to be so again. O(size).
 *
 * @example
 * const rules = redactionRules({ secrets: ['correct horse battery'] })
 * redactRecord({ title: 'On correct horse battery', public: true }, rules) // { title: 'On [redacted]', public: true }
 */
export function redactRecord<R extends ConversationPatch>(record: R, rules: RedactionRules): R {
  const { title, tags, metadata } = record
  const changed = {
    ...(typeof title === 'string' && { title: redactTitle(title, rules) }),
    ...(isJson(tags) && { tags: redactTags(tags, rules) }),
    ...(isJson(metadata) && { metadata: redactJson(metadata, rules) as JsonObject }),
  }
  const isSame =
    (changed.title ?? title) === title &&
    (changed.tags ?? tags) === tags &&
    (changed.metadata ?? metadata) === metadata
  return isSame ? record : { ...record, ...changed }
}

/** What is no JSON is for the store to refuse. */
const isJson = <T>(value: T): value is T & JsonObject =>
  typeof value === 'object' && value !== null && copyJson(value).issues.length === 0

function redactTitle(title: string, rules: RedactionRules): string {
  const redacted = redactText(title, rules)
  return [...title].length <= MAX_TITLE ? cut(redacted, MAX_TITLE) : redacted
}

type Tags = Readonly<Record<string, string>>

function redactTags(tags: Tags, rules: RedactionRules): Tags {
  const redacted = redactJson(tags, rules) as Tags
  if (redacted === tags) return tags
  // What was too long is for the store to refuse.
  const fits = Object.values(tags).every((value) => [...String(value)].length <= MAX_TAG)
  const out: Record<string, string> = {}
  for (const [key, value] of Object.entries(redacted)) {
    let own = key
    if (!Object.hasOwn(tags, key)) {
      // The key of a tag has no room for a mask's brackets.
      const bare = key.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
      own = bare.slice(0, MAX_TAG_KEY)
      for (let nth = 0; Object.hasOwn(tags, own) || Object.hasOwn(out, own); nth += 1)
        own = `${bare.slice(0, MAX_TAG_KEY - String(nth).length)}${nth}`
    }
    out[own] = fits ? cut(value, MAX_TAG) : value
  }
  return out
}

/** The text, in whole characters. */
function cut(text: string, most: number): string {
  const characters = [...text]
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`
}
