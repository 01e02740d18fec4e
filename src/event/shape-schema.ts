/**
 * Makes the zod schemas of nested shapes. A schema rejects unknown fields only where interface section 2.3
 * requires it (design D14). Uses zod's functions, because its methods would add all of zod to a bundle.
 */

import * as z from 'zod/mini'
import { _default as withDefault } from 'zod/mini'
import { type JsonObject, type JsonValue, SOURCES } from './shapes.ts'

export type Problem = z.core.$ZodIssue

export type Check = (value: JsonValue) => readonly Problem[]

const NO_PROBLEMS: readonly Problem[] = Object.freeze([])

/**
 * Returns a check that makes and compiles its schema at first use, because making the schemas of all kinds
 * would delay every import of the package. For an invalid value, zod's slower parser then finds the problems.
 */
export function checker(makeSchema: () => z.core.$ZodType): Check {
  let schema: z.core.$ZodType | undefined
  return (value) => {
    schema ??= z.compile(makeSchema())
    return z.validate(schema, value) ? NO_PROBLEMS : (z.safeParse(schema, value).error?.issues ?? NO_PROBLEMS)
  }
}

/** Returns a check for each kind's schema. */
export const checkers = (
  schemas: Readonly<Record<string, () => z.core.$ZodType>>,
): ReadonlyMap<JsonValue | undefined, Check> =>
  new Map(Object.entries(schemas).map(([kind, makeSchema]) => [kind, checker(makeSchema)]))

/** Returns a schema that accepts any value. Values are copied or parsed as JSON before a schema checks them. */
export const json = () => z.unknown() as z.ZodMiniType as z.ZodMiniType<JsonValue, JsonValue>

export const jsonObject = () =>
  z.record(z.string(), json()) as z.ZodMiniType as z.ZodMiniType<JsonObject, JsonObject>

export const maybeText = () => z.exactOptional(z.nullable(z.string()))

/** An integer. Without `error`, zod would report that a number is required, not an integer. */
export const integer = () => z.int({ error: 'int' })

export const source = () => z.enum(SOURCES)

export const textContent = () =>
  z.strictObject({
    type: withDefault(z.literal('text'), 'text'),
    text: z.string(),
    cache_prompt: withDefault(z.boolean(), false),
  })

export const imageContent = () =>
  z.looseObject({
    type: withDefault(z.literal('image'), 'image'),
    image_urls: z.array(z.string()),
    cache_prompt: withDefault(z.boolean(), false),
  })

const OTHER_KIND = 'Must not be text or image, which have their own fields.'

/** A part that is neither text nor image: only `type` is checked; the provider defines the other fields. */
export const openPart = () =>
  z.looseObject({
    type: z
      .string()
      .check(z.minLength(1), z.regex(/^(?!(?:text|image)$)/, { error: OTHER_KIND, abort: true })),
  })

const content = () => z.union([textContent(), imageContent(), openPart()])

export const thinkingBlock = () =>
  z.strictObject({
    type: withDefault(z.literal('thinking'), 'thinking'),
    thinking: z.string(),
    signature: maybeText(),
  })

export const redactedThinkingBlock = () =>
  z.strictObject({ type: withDefault(z.literal('redacted_thinking'), 'redacted_thinking'), data: z.string() })

export const thinkingBlocks = () =>
  withDefault(z.array(z.union([thinkingBlock(), redactedThinkingBlock()])), [])

export const reasoningItem = () =>
  z.strictObject({
    id: maybeText(),
    summary: withDefault(z.array(z.string()), []),
    content: z.exactOptional(z.nullable(z.array(z.string()))),
    encrypted_content: maybeText(),
    status: maybeText(),
  })

export const messageToolCall = () =>
  z.looseObject({
    id: z.string(),
    name: z.string(),
    arguments: z.string(),
    origin: z.enum(['completion', 'responses']),
    responses_item_id: maybeText(),
  })

export const message = () =>
  z.looseObject({
    role: z.enum(['user', 'system', 'assistant', 'tool']),
    content: withDefault(z.array(content()), []),
    tool_calls: z.exactOptional(z.nullable(z.array(messageToolCall()))),
    tool_call_id: maybeText(),
    name: maybeText(),
    reasoning_content: maybeText(),
    thinking_blocks: thinkingBlocks(),
    responses_reasoning_item: z.exactOptional(z.nullable(reasoningItem())),
  })

export const securityRisk = () => z.enum(['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH'])

export const criticResult = () =>
  z.looseObject({
    score: z.number().check(z.gte(0), z.lte(1)),
    message: maybeText(),
    metadata: z.exactOptional(z.nullable(jsonObject())),
  })

export const toolDefinition = () =>
  z.looseObject({
    kind: z.exactOptional(z.string()),
    title: maybeText(),
    description: z.string(),
    action_type: z.string(),
    observation_type: maybeText(),
    annotations: z.exactOptional(z.nullable(jsonObject())),
    meta: z.exactOptional(z.nullable(jsonObject())),
  })

/** Any action. Users make tools, so only the kind is required. Published kinds have their own schemas. */
export const action = () => z.looseObject({ kind: z.string().check(z.minLength(1)) })

export const observation = () =>
  z.looseObject({
    kind: z.string().check(z.minLength(1)),
    content: withDefault(z.array(content()), []),
    is_error: withDefault(z.boolean(), false),
  })
