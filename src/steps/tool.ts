/** What a tool is: described to the model, checked before it is executed, executed. */

import type { BackgroundWork } from '../conversation/background.ts'
import type { ChildReply, ChildRequest } from '../conversation/run/step.ts'
import { ColloquyError } from '../event/errors.ts'
import type { Content, JsonObject, JsonValue, Observation, ToolDefinition } from '../event/shapes.ts'
import type { ActionEvent } from '../event/types.ts'
import { actionKind } from '../messages/text.ts'

/** What is wrong with a value. */
export interface SchemaIssue {
  readonly message: string
  /** Where: keys, or objects that hold one. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** What came of checking a value. */
export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] }

/**
 * A schema of any library that keeps to Standard Schema: zod 4.2 or later, arktype 2.1.28 or later, valibot through
 * `toStandardJsonSchema`, and others. `jsonSchema` is its Standard JSON Schema side, without which no model can be told
 * of it; the types of some libraries do not name it.
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

/** Whether a value is a Standard Schema; those of some libraries are functions. */
export const isStandardSchema = (value: unknown): value is StandardSchema => {
  const isThing = (typeof value === 'object' && value !== null) || typeof value === 'function'
  if (!isThing) return false
  const side: unknown = (value as { readonly '~standard'?: unknown })['~standard']
  return typeof side === 'object' && side !== null && 'validate' in side
}

/** What a tool is told beside its arguments. */
export interface ToolContext {
  /** Aborted when the run is interrupted: nothing waits for the tool any longer, and its result is not kept. */
  readonly signal: AbortSignal
  /** The call; its id is the same when a repeatable tool is executed again. */
  readonly call: ActionEvent & { readonly id: string }
  /** Appends progress of a call that works on behind its reply; a new `task` replaces its handle. */
  readonly report?: BackgroundWork['report']
  /** Asks the child conversation of the call; see `subagent`. */
  readonly runChild?: (request: ChildRequest) => Promise<ChildReply>
}

/** A result that follows later: what `background` returns. */
export class LaterResult {
  readonly result: PromiseLike<ToolOutput>
  readonly options: BackgroundOptions

  constructor(result: PromiseLike<ToolOutput>, options: BackgroundOptions) {
    this.result = result
    // Its failure is the result of the call, also where it fails before that is waited for.
    Promise.resolve(result).catch(() => undefined)
    this.options = options
  }
}

/** What the log and the model are told of a call that works on. */
export interface BackgroundOptions {
  /** What the model reads meanwhile. Default: a sentence that says that the result follows. */
  readonly content?: string | readonly Content[]
  /** A handle with which another process can continue the work, for the tool's `resume`. */
  readonly task?: JsonValue
}

/**
 * The output of a tool whose result follows later: the model goes on meanwhile, and gets the result in a message.
 * @example
 * const report = tool({
 *   name: 'report',
 *   description: 'Writes a report.',
 *   parameters: z.object({}),
 *   execute: async () => background(writeReport(), { content: 'Started.' }),
 * })
 */
export const background = (result: PromiseLike<ToolOutput>, options: BackgroundOptions = {}): LaterResult =>
  new LaterResult(result, options)

/**
 * What a tool returns: a text, parts of content in the form of any provider, an MCP result, an `Error`, bytes, or an
 * observation (`kind` and `content`), which can be an error (`is_error`) and can have fields of its own. The model reads
 * any other value as JSON, in which images and files are replaced by parts that follow it.
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

/** A tool that a step can execute. */
export interface StepTool {
  readonly name: string
  /** For the model: what it does, and when it is wanted. */
  readonly description: string
  /**
   * A Standard Schema, against which the arguments are checked before the tool is executed, or JSON Schema, which is
   * given to the model and not checked.
   */
  readonly parameters: StandardSchema | JsonObject
  /**
   * Executes a call, at the same time as the other calls of the reply. What it throws is an error result, in the words
   * of the error.
   */
  execute(args: JsonObject, context: ToolContext): ToolOutput | PromiseLike<ToolOutput>
  /**
   * Whether it may be executed again where a crash cut it off, or HEAD went back to before its result, since doing it
   * twice does no harm. Default: no, and the model is told that it is not known whether the call took effect.
   */
  readonly repeatable?: boolean
  /**
   * Whether a call works on behind its reply: the model is told so at once, and gets the result in a message later.
   * Its `signal` is aborted when the call is cancelled, not when the run is interrupted. Default: no; a tool can also
   * return `background(promise)`.
   */
  readonly background?: boolean
  /**
   * Continues the work of a call that another process has left, from the handle that it gave (`task`). Default: the
   * call is completed as lost.
   */
  resume?(task: JsonValue, context: ToolContext): ToolOutput | PromiseLike<ToolOutput>
}

/**
 * A tool that the provider describes itself; it is passed on as it is. With `execute`, it is one whose calls come back
 * to be executed here, under its `name`, as `{ type: 'bash_20250124', name: 'bash', execute }`; without, the provider
 * executes it.
 */
export interface ProviderTool {
  readonly execute?: StepTool['execute']
  readonly repeatable?: boolean
  readonly background?: boolean
  readonly resume?: StepTool['resume']
  readonly parameters?: never
  readonly [field: string]: unknown
}

/**
 * A tool whose `execute` gets the type that its schema checks. Does nothing at run time.
 * @example
 * const add = tool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   parameters: z.object({ a: z.number(), b: z.number() }),
 *   execute: ({ a, b }) => String(a + b),
 * })
 */
export const tool = <Output>(
  definition: Omit<StepTool, 'parameters' | 'execute'> & {
    readonly parameters: StandardSchema<Output>
    readonly execute: (args: Output, context: ToolContext) => ToolOutput | PromiseLike<ToolOutput>
  },
): StepTool => definition as unknown as StepTool

/** A tool as it is described to a model. */
export interface ToolDescription {
  readonly name: string
  readonly description: string
  /** JSON Schema. */
  readonly parameters: JsonObject
}

/** Whether it is one that a step describes, and executes. */
export const isStepTool = (given: StepTool | ProviderTool): given is StepTool =>
  typeof given.execute === 'function' && given.parameters !== undefined

/** What the provider is given of a tool that it describes itself. */
export function askedWith(tool: ProviderTool): ProviderTool {
  const { execute: _, repeatable: __, background: ___, resume: ____, ...asked } = tool
  return asked
}

/**
 * A tool that the provider describes and a step executes; null for one that the provider executes. Nothing checks its
 * arguments.
 */
export function executableOf({
  execute,
  name,
  description,
  repeatable,
  background: worksOn,
  resume,
}: ProviderTool): StepTool | null {
  if (typeof execute !== 'function' || typeof name !== 'string') return null
  return {
    name,
    description: typeof description === 'string' ? description : '',
    parameters: {},
    execute,
    ...(repeatable === true && { repeatable }),
    ...(worksOn === true && { background: true }),
    ...(typeof resume === 'function' && { resume }),
  }
}

/**
 * How a tool is described to a model. @throws ColloquyError `invalid_argument` for a schema that has no JSON Schema
 * side, and what a library throws that cannot describe its schema.
 */
export function describeTool({ name, description, parameters }: StepTool): ToolDescription {
  if (!isStandardSchema(parameters)) return { name, description, parameters: parameters as JsonObject }
  const side = parameters['~standard'].jsonSchema
  if (side === undefined) {
    throw new ColloquyError(
      'invalid_argument',
      `The parameters of ${name} cannot be described to a model: the schema has no JSON Schema. Take a version of its library that keeps to Standard JSON Schema, or give JSON Schema.`,
      { name },
    )
  }
  // Some providers refuse the field that names the dialect.
  const { $schema: _, ...schema } = side.input({ target: 'draft-2020-12' }) as JsonObject
  return { name, description, parameters: schema }
}

/** How a tool stands in the log. */
export const definitionOf = ({
  name,
  description,
}: Pick<StepTool, 'name' | 'description'>): ToolDefinition => ({
  title: name,
  description,
  action_type: actionKind(name),
  observation_type: TOOL_OBSERVATION,
})

/** The kind of the observations that are made of what a tool gives back. */
export const TOOL_OBSERVATION = 'ToolObservation'
