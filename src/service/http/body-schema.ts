import * as z from 'zod'
import { LEGAL_ID } from '../../event/ids.ts'
import { toIssues } from '../../event/issues.ts'
import { checker, openPart, textContent } from '../../event/shape-schema.ts'
import type { Content, JsonObject, JsonValue } from '../../event/shapes.ts'
import { MAX_TAG_KEY, MAX_TAGS, TAG_KEY } from '../../store/kit/record.ts'
import type { BodySpec } from './operation.ts'
import type { ValidationError } from './parameters.ts'

/** The specification of a body from a zod schema. Defaults are documented but not filled in. */
export function bodyOf<S extends z.ZodType>(schema: S): BodySpec<z.input<S>> {
  const check = checker(() => schema)
  const { $schema: _dialect, ...document } = z.toJSONSchema(schema, { io: 'input', override: tidy })
  return {
    schema: document as object as JsonObject,
    read(value) {
      const args = value as JsonValue
      const problems = check(args)
      // The check has verified the type.
      if (problems.length === 0) return { value: args as z.input<S> }
      return { errors: toIssues(problems, args, ['body']) as ValidationError[] }
    },
  }
}

export const closedBody = <Fields extends z.core.$ZodLooseShape>(fields: Fields) =>
  bodyOf(z.strictObject(fields))

export const optionalBody = <B>(body: BodySpec<B>): BodySpec<B | undefined> => ({ ...body, optional: true })

function tidy({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
}

export const id = z
  .string()
  .regex(LEGAL_ID, 'Must be 1 to 200 characters of well-formed Unicode, without control characters.')

/** Text of `min` to `max` characters that every store accepts. */
export const text = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine((value) => value.isWellFormed() && !value.includes('\u0000'), {
      error: 'Must be well-formed Unicode without NUL.',
      params: { type: 'value_error' },
    })

/** An integer. The error message is a code that `toIssues` reads. */
export const integer = z.int({ error: 'int' })

export const title = text(1, 200).refine((value) => value.trim() !== '', {
  error: 'Must not be blank.',
  params: { type: 'value_error' },
})

export const tags = z
  .record(
    z
      .string()
      .max(MAX_TAG_KEY)
      .regex(TAG_KEY, 'Must be letters, digits and underscores, and begin with no underscore.'),
    text(0, 256),
  )
  .refine((value) => Object.keys(value).length <= MAX_TAGS, {
    error: `Must be at most ${MAX_TAGS} tags.`,
    params: { type: 'value_error' },
  })
  .meta({ maxProperties: MAX_TAGS })

export const content = z.union([
  textContent(),
  z.strictObject({
    type: z.literal('image').default('image'),
    image_urls: z.array(z.string()).min(1),
    cache_prompt: z.boolean().default(false),
  }),
  openPart(),
]) as z.ZodType as z.ZodType<Content, Content>

export const messageFields = {
  role: z.literal('user').default('user').optional(),
  content: z.array(content).min(1),
}

export const sentMessage = {
  ...messageFields,
  /** Idempotency key: a second message with the same key is not appended. */
  key: text(1, 200).optional(),
  sender: text(1, 200).optional(),
}

export const confirmationPolicy = z.looseObject({
  kind: z.enum(['AlwaysConfirm', 'NeverConfirm', 'ConfirmRisky']),
  threshold: z.enum(['LOW', 'MEDIUM', 'HIGH']).optional(),
  confirm_unknown: z.boolean().optional(),
})

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

export const secrets = z.record(z.string().regex(/^[^\p{Cc}]{1,200}$/u), z.union([z.string(), secretSource]))

/** Fields of a start request that the agent receives. */
export const agentSettings = { secrets: secrets.nullish(), security_analyzer: securityAnalyzer.nullish() }
