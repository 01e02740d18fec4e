/** What the bodies of several operations have in common, as zod schemas: ids, texts, tags and what a user says. */

import * as z from 'zod'
import { LEGAL_ID } from '../../event/ids.ts'
import { openPart, textContent } from '../../event/shape-schema.ts'
import { MOST_TAG_KEY, MOST_TAGS } from '../../store/kit/record.ts'

/** An id that every store keeps. */
export const id = z
  .string()
  .regex(LEGAL_ID, 'Must be 1 to 200 characters of well-formed Unicode, without control characters.')

/** Text that every store keeps, of so many characters. */
export const text = (least: number, most: number) =>
  z
    .string()
    .min(least)
    .max(most)
    .refine((value) => value.isWellFormed() && !value.includes('\u0000'), {
      error: 'Must be well-formed Unicode without NUL.',
      params: { type: 'value_error' },
    })

/** A whole number; the message tells the issues what was really meant. */
export const integer = z.int({ error: 'int' })

export const title = text(1, 200)

export const tags = z
  .record(
    z
      .string()
      .max(MOST_TAG_KEY)
      .regex(/^[a-z0-9]+$/, 'Must be lower-case letters and digits.'),
    text(0, 256),
  )
  .refine((given) => Object.keys(given).length <= MOST_TAGS, {
    error: `Must be at most ${MOST_TAGS} tags.`,
    params: { type: 'value_error' },
  })
  .meta({ maxProperties: MOST_TAGS })

const content = z.union([
  textContent,
  z.strictObject({
    type: z.literal('image').default('image'),
    image_urls: z.array(z.string()).min(1),
    cache_prompt: z.boolean().default(false),
  }),
  openPart,
])

/** What a message is made of; only users speak by this door. */
export const said = {
  role: z.literal('user').default('user').optional(),
  content: z.array(content).min(1),
}

/** A message as a client sends it to one conversation. */
export const sentMessage = {
  ...said,
  /** The client's own key: a message with a key that was sent before is not sent again. */
  key: text(1, 200).optional(),
  sender: text(1, 200).optional(),
}
