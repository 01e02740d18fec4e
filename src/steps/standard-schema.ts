/** What of a Standard Schema (standardschema.dev) a tool needs: to check arguments, and to describe them. */

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
