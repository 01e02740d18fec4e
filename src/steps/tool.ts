import type { BackgroundWork } from '../conversation/background.ts'
import type { ChildReply, ChildRequest } from '../conversation/run/step.ts'
import { checkOptionNames, type Given, invalid, invalidArgument } from '../event/check-value.ts'
import type { Content, JsonObject, JsonValue, Observation, ToolDefinition } from '../event/shapes.ts'
import type { ColloquyError } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import type { ActionEvent } from '../event/types.ts'
import { actionKind, objectOf, objectsOf, readArguments, stringOf } from '../messages/text.ts'
import { valueAt } from '../messages/stream.ts'
import { errorText, TOOL_OBSERVATION } from '../messages/tool-result.ts'

export interface SchemaIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/**
 * A schema of any Standard Schema library, such as zod 4.2 or later, arktype 2.1.28 or later, or valibot with
 * `toStandardJsonSchema`. Tools require `jsonSchema`, which is optional here because the types of some
 * libraries omit it.
 */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => object } | undefined
  }
}

/** A JSON Schema, also in the type of a library, such as `JSONSchema7`. */
export type JsonSchema = JsonObject | { readonly type?: unknown; readonly properties?: unknown }

/** Whether a value is a Standard Schema. In some libraries, a schema is a function. */
const isStandardSchema = (value: unknown): value is StandardSchema => {
  const isThing = (typeof value === 'object' && value !== null) || typeof value === 'function'
  if (!isThing) return false
  const side: unknown = (value as { readonly '~standard'?: unknown })['~standard']
  return typeof side === 'object' && side !== null && 'validate' in side
}

/** The second argument of `execute`. */
export interface ToolContext {
  /**
   * Aborted when the run is interrupted. The result of the call is then discarded. For a background call:
   * aborted when the call is cancelled, not when the run is interrupted.
   */
  readonly signal: AbortSignal
  /** The call. It has the same `id` when a repeatable tool executes it again. */
  readonly call: ActionEvent & { readonly id: string }
  /** Reports progress of a background call. Absent for other calls. `resume` gets the last reported `task`. */
  readonly report?: BackgroundWork['report']
  /** Runs a child conversation of this call. */
  readonly runChild?: (request: ChildRequest) => Promise<ChildReply>
}

/** The promised result of a background call, or a function that starts the work. */
export type LaterWork = PromiseLike<ToolOutput> | ((context: ToolContext) => PromiseLike<ToolOutput>)

export class LaterResult {
  readonly result: LaterWork
  readonly options: BackgroundOptions

  constructor(result: LaterWork, options: BackgroundOptions) {
    this.result = result
    // Without a handler, an early rejection would end the process. The rejection later becomes the call's result.
    if (typeof result !== 'function') Promise.resolve(result).catch(() => undefined)
    this.options = options
  }
}

/** Options of `background`. */
export interface BackgroundOptions {
  /** First result, sent to the model in the next request. Default: a text that announces the final result. */
  readonly content?: string | readonly Content[]
  /** Handle that is passed to `resume`, so that another process can continue the work. Default: none. */
  readonly task?: JsonValue
}

/**
 * Makes a call a background call. The model gets `content` now, and the result later, in a message.
 * @example
 * const report = tool({
 *   name: 'report',
 *   description: 'Writes a report.',
 *   parameters: z.object({}),
 *   execute: async () => background(writeReport(), { content: 'Started.' }),
 * })
 */
export function background(result: LaterWork, options: BackgroundOptions = {}): LaterResult {
  checkOptionNames(options, 'content task')
  return new LaterResult(result, options)
}

/**
 * What a tool can return: text, content parts in any provider's format, an MCP result, an `Error`, bytes, or
 * an observation (an object with `kind` and `content`). Other values become JSON, followed by the images and
 * files in them.
 */
export type ToolOutput =
  | string
  | readonly Content[]
  | Observation
  | object
  | number
  | bigint
  | boolean
  | null
  | void
  | LaterResult

/** Returns the last value of an async generator, and other output unchanged, even an iterable stream. */
export async function finalOutput(output: ToolOutput): Promise<ToolOutput> {
  return Object.prototype.toString.call(output) === '[object AsyncGenerator]' ? lastOf(output) : output
}

export async function lastOf(output: unknown): Promise<ToolOutput> {
  if (typeof output !== 'object' || output === null || !(Symbol.asyncIterator in output))
    return output as ToolOutput
  let last: ToolOutput = undefined
  for await (const item of output as AsyncIterable<ToolOutput>) last = item
  return last
}

/** A tool that a step executes. */
export interface StepTool {
  readonly name: string
  readonly description: string
  /** A Standard Schema or JSON Schema. Only a Standard Schema checks the arguments before `execute`. */
  readonly parameters: StandardSchema | JsonSchema
  /** Executes a call, concurrently with other calls of the reply. A thrown error becomes an error result. */
  execute(args: JsonObject, context: ToolContext): ToolOutput | PromiseLike<ToolOutput>
  /**
   * Whether a call can safely be executed again, for example after a crash or a move of HEAD. Default: false.
   * If false, an interrupted call gets an error result, because its effect is unknown.
   */
  readonly repeatable?: boolean
  /**
   * Whether the model continues before the call has its result. The result follows in a later message.
   * `signal` is then aborted when the call is cancelled, not when the run is interrupted. Default: false; a
   * tool can also return `background(promise)`.
   */
  readonly background?: boolean
  /** Continues a background call from its `task` after a crash. Without `resume`, the outcome is `lost`. */
  resume?(task: JsonValue, context: ToolContext): ToolOutput | PromiseLike<ToolOutput>
}

/**
 * A tool in the provider's own format, sent without conversion. If the tool has `execute`, the step executes
 * its calls, as in `{ type: 'bash_20250124', name: 'bash', execute }`. Otherwise, the provider executes them.
 */
export interface ProviderTool {
  readonly execute?: StepTool['execute']
  readonly repeatable?: boolean
  /** With `execute`, as in `StepTool`. Without it, sent to the provider, for example the background of images. */
  readonly background?: unknown
  readonly resume?: StepTool['resume']
  readonly parameters?: never
  readonly [field: string]: unknown
}

/**
 * Returns the definition of a tool unchanged. Infers the type of `execute`'s arguments from a Standard Schema.
 * The step checks the arguments of each call against this schema.
 * @example
 * const add = tool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   parameters: z.object({ a: z.number(), b: z.number() }),
 *   execute: ({ a, b }) => String(a + b),
 * })
 */
export const tool = <Output = JsonObject>(
  definition: Omit<StepTool, 'parameters' | 'execute'> & {
    readonly parameters: StandardSchema<Output> | JsonSchema
    readonly execute: (args: NoInfer<Output>, context: ToolContext) => ToolOutput | PromiseLike<ToolOutput>
  },
): StepTool => definition as unknown as StepTool

/** Returns the arguments that hooks, policies and users saw. An argument called `kind` is only in `tool_call`. */
function argumentsOf({ action, tool_call }: ActionEvent): JsonObject {
  const { kind: _, ...args } = (action ?? { kind: '' }) as JsonObject
  const parsed = readArguments(tool_call.arguments) ?? {}
  // The log's objects are frozen, but a tool may change its arguments.
  return structuredClone(Object.hasOwn(parsed, 'kind') ? { ...args, kind: parsed['kind'] ?? null } : args)
}

export async function checkArguments(
  { parameters }: Pick<StepTool, 'parameters'>,
  call: ActionEvent,
): Promise<{ readonly args: JsonObject } | { readonly issues: string }> {
  const args = argumentsOf(call)
  if (!isStandardSchema(parameters)) return { args }
  const result = await parameters['~standard'].validate(args)
  if (result.issues === undefined) return { args: result.value as JsonObject }
  return { issues: `its arguments do not fit the schema. ${result.issues.map(sentenceOf).join(' ')}` }
}

function sentenceOf({ message, path = [] }: SchemaIssue): string {
  const keys = path.map((key) => String(typeof key === 'object' ? key.key : key))
  return `${keys.length === 0 ? '' : `${keys.join('.')}: `}${message}${/[.!?]$/.test(message) ? '' : '.'}`
}

export interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}

export function checkTools(field: string, tools: Given): readonly (StepTool | ProviderTool)[] {
  if (tools === undefined || tools === null) return []
  if (Array.isArray(tools) && tools.every(isObject)) return tools as (StepTool | ProviderTool)[]
  return invalidArgument(field, 'must be an array of tools')
}

export const lacksExecute = (name: unknown): ColloquyError =>
  invalid(
    `The tool ${String(name)} needs an \`execute\` function. To have a user approve its calls, pass a policy to the run.`,
    { name },
  )

export const isStepTool = (tool: StepTool | ProviderTool): tool is StepTool =>
  typeof tool.execute === 'function' && tool.parameters !== undefined

export function providerDescription(tool: ProviderTool): ProviderTool {
  if (typeof tool.execute !== 'function') return tool
  const { execute: _, repeatable: __, background: ___, resume: ____, ...description } = tool
  return description
}

export function executableOf(tool: ProviderTool): StepTool | null {
  const { execute, name, description, repeatable, background: isBackground, resume } = tool
  if (typeof execute !== 'function' || typeof name !== 'string') return null
  const base = { name, description: stringOf(description), parameters: {}, execute }
  const how = { repeatable: repeatable === true, background: isBackground === true }
  return { ...base, ...how, ...(typeof resume === 'function' && { resume }) }
}

/**
 * Describes a tool with a schema that all providers accept. At its top level, this schema has `properties`,
 * but neither `$schema` nor alternatives.
 * @throws ColloquyError `invalid_argument` for a schema that cannot be converted to JSON Schema.
 */
export function describeTool({ name, description, parameters }: StepTool): ToolDescription {
  const schema = jsonSchemaOf(name, parameters)
  const { $schema: _, $ref, allOf, anyOf, oneOf, ...plain } = schema
  const isPlain = ($ref ?? allOf ?? anyOf ?? oneOf) === undefined
  const properties = objectOf(plain['properties']) as JsonObject
  return {
    name,
    description,
    parameters: isPlain ? { ...plain, type: 'object', properties } : uniteAlternatives(schema),
  }
}

function jsonSchemaOf(name: string, parameters: StepTool['parameters']): JsonObject {
  if (!isStandardSchema(parameters)) return parameters as JsonObject
  const { jsonSchema } = parameters['~standard']
  if (jsonSchema === undefined)
    throw invalid(
      `The parameters of the tool ${name} cannot be converted to JSON Schema. Use a version of the schema library that implements Standard JSON Schema, or pass JSON Schema.`,
      { name },
    )
  try {
    return jsonSchema.input({ target: 'draft-2020-12' }) as JsonObject
  } catch (error) {
    const reason = errorText(error)
    throw invalid(`The schema of the tool ${name} cannot be converted to JSON Schema. Change it: ${reason}`, {
      name,
    })
  }
}

/** Merges a schema's alternatives into one object schema. A repeated `$ref` adds only its `required` fields. */
function uniteAlternatives(
  schema: JsonObject,
  root = schema,
  requiredBy = new Map<unknown, JsonValue[]>(),
): JsonObject {
  const { $schema: _, $ref, allOf, anyOf, oneOf, ...rest } = schema
  const partsOf = (parts: unknown): JsonObject[] =>
    objectsOf(parts).map((part) => uniteAlternatives(part as JsonObject, root, requiredBy))
  const all = [rest, ...partsOf(allOf), { required: requiredBy.get($ref) ?? [] }]
  if (typeof $ref === 'string' && $ref.startsWith('#/') && !requiredBy.has($ref)) {
    requiredBy.set($ref, [])
    const target = partsOf([valueAt(root, $ref.split('/').slice(1).map(unescapeKey))])
    requiredBy.set($ref, target.flatMap(requiredIn))
    all.push(...target)
  }
  const choices = [partsOf(anyOf), partsOf(oneOf)]
  const required = [...all.map(requiredIn), ...choices.map(requiredInEach)].flat()
  const known = new Map<string, Map<string, JsonValue>>()
  for (const part of [...all, ...choices.flat()])
    for (const [name, property] of Object.entries(objectOf(part['properties']))) {
      const variants = known.get(name) ?? new Map<string, JsonValue>()
      known.set(name, variants.set(JSON.stringify(property), property as JsonValue))
    }
  const properties = [...known].map(([name, variants]): [string, JsonValue] => {
    const [first = {}, ...others] = variants.values()
    return [name, others.length === 0 ? first : { anyOf: [first, ...others] }]
  })
  return {
    ...rest,
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 && { required: [...new Set(required)] }),
  }
}

/** Decodes a key of a JSON Pointer in a URL. */
const unescapeKey = (key: string): string =>
  key
    .replaceAll(/%([0-7][\da-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replaceAll('~1', '/')
    .replaceAll('~0', '~')

const requiredIn = ({ required }: JsonObject): JsonValue[] => (Array.isArray(required) ? required : [])

const requiredInEach = ([first = {}, ...others]: readonly JsonObject[]): JsonValue[] =>
  requiredIn(first).filter((name) => others.every((other) => requiredIn(other).includes(name)))

export const definitionOf = ({
  name,
  description,
}: Pick<StepTool, 'name' | 'description'>): ToolDefinition => ({
  title: name,
  description,
  action_type: actionKind(name),
  observation_type: TOOL_OBSERVATION,
})
