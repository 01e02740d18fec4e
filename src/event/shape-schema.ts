/**
 * The nested shapes as zod schemas: closed where interface 2.3 closes them, else open (design D14). They are written
 * with zod's functions, of which a bundle takes only what is used: its methods bring all of it.
 */

import * as z from 'zod/mini'
import { _default as withDefault } from 'zod/mini'
import { type JsonObject, type JsonValue, SOURCES } from './shapes.ts'

/** A problem as zod tells it. */
export type Problem = z.core.$ZodIssue

/** Tells what a schema has against a JSON value; nothing when it fits. */
export type Check = (value: JsonValue) => readonly Problem[]

const NO_PROBLEMS: readonly Problem[] = Object.freeze([])

/**
 * The check of a schema. It is compiled when its first value comes, so kinds that never do cost nothing, and nothing is
 * built: the value itself is what goes on. Only a value that does not fit runs through the slower parser, which knows
 * where and why.
 */
export function checker(schema: z.core.$ZodType): Check {
  let compiled: z.core.$ZodType | undefined
  return (value) => {
    compiled ??= z.compile(schema)
    return z.validate(compiled, value)
      ? NO_PROBLEMS
      : (z.safeParse(schema, value).error?.issues ?? NO_PROBLEMS)
  }
}

/**
 * Any JSON. Whatever reaches a schema has been proved to be JSON by the copy or the parse before it, so nothing is
 * left to check here.
 */
export const json = z.unknown() as z.ZodMiniType as z.ZodMiniType<JsonValue, JsonValue>

/** Any JSON object. */
export const jsonObject = z.record(z.string(), json) as z.ZodMiniType as z.ZodMiniType<JsonObject, JsonObject>

/** Text, or null, or nothing at all. */
export const maybeText = z.exactOptional(z.nullable(z.string()))

/** A whole number. zod asks for a number first, and says so; the message tells the issues what was really meant. */
export const integer = z.int({ error: 'int' })

/** Where an event comes from. */
export const source = z.enum(SOURCES)

export const textContent = z.strictObject({
  type: withDefault(z.literal('text'), 'text'),
  text: z.string(),
  cache_prompt: withDefault(z.boolean(), false),
})

export const imageContent = z.looseObject({
  type: withDefault(z.literal('image'), 'image'),
  image_urls: z.array(z.string()),
  cache_prompt: withDefault(z.boolean(), false),
})

const OTHER_KIND = 'Must name another kind than text and image, which have fields of their own.'

/** A part of any other kind: its fields are its provider's, so that nothing but its kind is asked for. */
export const openPart = z.looseObject({
  type: z.string().check(z.minLength(1), z.regex(/^(?!(?:text|image)$)/, { error: OTHER_KIND, abort: true })),
})

export const content = z.union([textContent, imageContent, openPart])

export const thinkingBlock = z.strictObject({
  type: withDefault(z.literal('thinking'), 'thinking'),
  thinking: z.string(),
  signature: maybeText,
})

export const redactedThinkingBlock = z.strictObject({
  type: withDefault(z.literal('redacted_thinking'), 'redacted_thinking'),
  data: z.string(),
})

export const thinkingBlocks = withDefault(z.array(z.union([thinkingBlock, redactedThinkingBlock])), [])

export const reasoningItem = z.strictObject({
  id: maybeText,
  summary: withDefault(z.array(z.string()), []),
  content: z.exactOptional(z.nullable(z.array(z.string()))),
  encrypted_content: maybeText,
  status: maybeText,
})

export const messageToolCall = z.looseObject({
  id: z.string(),
  name: z.string(),
  arguments: z.string(),
  origin: z.enum(['completion', 'responses']),
  responses_item_id: maybeText,
})

export const message = z.looseObject({
  role: z.enum(['user', 'system', 'assistant', 'tool']),
  content: withDefault(z.array(content), []),
  tool_calls: z.exactOptional(z.nullable(z.array(messageToolCall))),
  tool_call_id: maybeText,
  name: maybeText,
  reasoning_content: maybeText,
  thinking_blocks: thinkingBlocks,
  responses_reasoning_item: z.exactOptional(z.nullable(reasoningItem)),
})

export const securityRisk = z.enum(['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH'])

export const criticResult = z.looseObject({
  score: z.number().check(z.gte(0), z.lte(1)),
  message: maybeText,
  metadata: z.exactOptional(z.nullable(jsonObject)),
})

export const toolDefinition = z.looseObject({
  kind: z.exactOptional(z.string()),
  title: maybeText,
  description: z.string(),
  action_type: z.string(),
  observation_type: maybeText,
  annotations: z.exactOptional(z.nullable(jsonObject)),
  meta: z.exactOptional(z.nullable(jsonObject)),
})

/**
 * Any action: users make tools, so only the kind is asked for here; the published kinds are checked by their own
 * schemas.
 */
export const action = z.looseObject({ kind: z.string().check(z.minLength(1)) })

/** Any observation: the kind and what every observation shares. */
export const observation = z.looseObject({
  kind: z.string().check(z.minLength(1)),
  content: withDefault(z.array(content), []),
  is_error: withDefault(z.boolean(), false),
})
