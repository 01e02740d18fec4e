/** The nested shapes as zod schemas: closed where interface 2.3 closes them, else open (design D14). */

import * as z from 'zod'
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
export function checker(schema: z.ZodType): Check {
  let compiled: z.ZodType | undefined
  return (value) => {
    compiled ??= z.compile(schema)
    return z.validate(compiled, value) ? NO_PROBLEMS : (schema.safeParse(value).error?.issues ?? NO_PROBLEMS)
  }
}

/**
 * Any JSON. Whatever reaches a schema has been proved to be JSON by the copy or the parse before it, so nothing is
 * left to check here.
 */
export const json = z.unknown() as z.ZodType as z.ZodType<JsonValue, JsonValue>

/** Any JSON object. */
export const jsonObject = z.record(z.string(), json) as z.ZodType as z.ZodType<JsonObject, JsonObject>

/** Text, or null, or nothing at all. */
export const maybeText = z.string().nullable().exactOptional()

/** A whole number. zod asks for a number first, and says so; the message tells the issues what was really meant. */
export const integer = z.int({ error: 'int' })

/** Where an event comes from. */
export const source = z.enum(SOURCES)

export const textContent = z.strictObject({
  type: z.literal('text').default('text'),
  text: z.string(),
  cache_prompt: z.boolean().default(false),
})

export const imageContent = z.looseObject({
  type: z.literal('image').default('image'),
  image_urls: z.array(z.string()),
  cache_prompt: z.boolean().default(false),
})

const OTHER_KIND = 'Must name another kind than text and image, which have fields of their own.'

/** A part of any other kind: its fields are its provider's, so that nothing but its kind is asked for. */
export const openPart = z.looseObject({
  type: z
    .string()
    .min(1)
    .regex(/^(?!(?:text|image)$)/, { error: OTHER_KIND, abort: true }),
})

export const content = z.union([textContent, imageContent, openPart])

export const thinkingBlock = z.strictObject({
  type: z.literal('thinking').default('thinking'),
  thinking: z.string(),
  signature: maybeText,
})

export const redactedThinkingBlock = z.strictObject({
  type: z.literal('redacted_thinking').default('redacted_thinking'),
  data: z.string(),
})

export const thinkingBlocks = z.array(z.union([thinkingBlock, redactedThinkingBlock])).default([])

export const reasoningItem = z.strictObject({
  id: maybeText,
  summary: z.array(z.string()).default([]),
  content: z.array(z.string()).nullable().exactOptional(),
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
  content: z.array(content).default([]),
  tool_calls: z.array(messageToolCall).nullable().exactOptional(),
  tool_call_id: maybeText,
  name: maybeText,
  reasoning_content: maybeText,
  thinking_blocks: thinkingBlocks,
  responses_reasoning_item: reasoningItem.nullable().exactOptional(),
})

export const securityRisk = z.enum(['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH'])

export const criticResult = z.looseObject({
  score: z.number().min(0).max(1),
  message: maybeText,
  metadata: jsonObject.nullable().exactOptional(),
})

export const toolDefinition = z.looseObject({
  kind: z.string().exactOptional(),
  title: maybeText,
  description: z.string(),
  action_type: z.string(),
  observation_type: maybeText,
  annotations: jsonObject.nullable().exactOptional(),
  meta: jsonObject.nullable().exactOptional(),
})

/**
 * Any action: users make tools, so only the kind is asked for here; the published kinds are checked by their own
 * schemas.
 */
export const action = z.looseObject({ kind: z.string().min(1) })

/** Any observation: the kind and what every observation shares. */
export const observation = z.looseObject({
  kind: z.string().min(1),
  content: z.array(content).default([]),
  is_error: z.boolean().default(false),
})
