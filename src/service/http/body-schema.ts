/** Checks bodies by a zod schema, and names unknown and ill-formed fields as the interface does. */

import * as z from 'zod'
import { toIssues } from '../../event/issues.ts'
import { checker } from '../../event/shape-schema.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { BodySpec } from './operation.ts'
import type { ValidationError } from './problem.ts'

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
