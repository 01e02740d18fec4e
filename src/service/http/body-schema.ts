/** Checks bodies by a zod schema, and names unknown and ill-formed fields as the interface does. */

import * as z from 'zod'
import { LEGAL_ID } from '../../event/ids.ts'
import { toIssues } from '../../event/issues.ts'
import { checker, openPart, textContent } from '../../event/shape-schema.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { MOST_TAG_KEY, MOST_TAGS, TAG_KEY } from '../../store/kit/record.ts'
import type { BodySpec } from './operation.ts'
import type { ValidationError } from './parameters.ts'

/**
 * A body as the schema has it. Defaults stand in the document and are not filled in: what was left out is left out.
 * O(size).
 *
 * @param options.optional whether the body may be left out as a whole
 */
export function bodyOf<S extends z.ZodType>(schema: S): BodySpec<z.input<S>>
export function bodyOf<S extends z.ZodType>(
  schema: S,
  options: { readonly optional: true },
): BodySpec<z.input<S> | undefined>
export function bodyOf<S extends z.ZodType>(
  schema: S,
  options: { readonly optional?: boolean } = {},
): BodySpec<z.input<S> | undefined> {
  const check = checker(schema)
  const { $schema: _dialect, ...document } = z.toJSONSchema(schema, { io: 'input', override: tidy })
  return {
    schema: document as object as JsonObject,
    ...options,
    read(value) {
      const given = value as JsonValue
      const issues = toIssues(check(given), given, ['body'])
      // The check has proved what the type says.
      return issues.length === 0 ? { value: given as z.input<S> } : { errors: issues as ValidationError[] }
    },
  }
}

/** zod says aloud what JSON implies: that integers are exact up to 2^53 - 1. */
function tidy({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
}

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

export const title = text(1, 200).refine((value) => value.trim() !== '', {
  error: 'Must not be blank.',
  params: { type: 'value_error' },
})

export const tags = z
  .record(
    z
      .string()
      .max(MOST_TAG_KEY)
      .regex(TAG_KEY, 'Must be letters, digits and underscores, and begin with no underscore.'),
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

/** Which calls a user must confirm. */
export const confirmationPolicy = z.looseObject({
  kind: z.enum(['AlwaysConfirm', 'NeverConfirm', 'ConfirmRisky']),
  threshold: z.enum(['LOW', 'MEDIUM', 'HIGH']).optional(),
  confirm_unknown: z.boolean().optional(),
})

/** What rates the risk of calls; the agent applies it. */
export const securityAnalyzer = z.looseObject({
  kind: z.enum([
    'LLMSecurityAnalyzer',
    'PatternSecurityAnalyzer',
    'PolicyRailSecurityAnalyzer',
    'EnsembleSecurityAnalyzer',
    'GraySwanAnalyzer',
    'MaybeDontAnalyzer',
    'ToolShieldLLMSecurityAnalyzer',
  ]),
})

const secretSource = z.union([
  z.looseObject({ kind: z.literal('StaticSecret'), value: z.string() }),
  z.looseObject({ kind: z.literal('LookupSecret'), url: text(1, 4_096) }),
])

/** Secrets for the agent, by name: each is a text, or the source of one. */
export const secrets = z.record(z.string().regex(/^[^\p{Cc}]{1,200}$/u), z.union([z.string(), secretSource]))
