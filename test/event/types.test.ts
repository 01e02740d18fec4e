/**
 * The handwritten types equal the types of the schemas. The type checker proves it, so compiling is the
 * test.
 */

import { describe, expectTypeOf, it } from 'vitest'
import type * as z from 'zod'
import type { EventKind } from '../../src/event/kinds.ts'
import type {
  ActionOf,
  ObservationOf,
  PublishedAction,
  PublishedObservation,
} from '../../src/event/published/payload-schema.ts'
import type { eventSchemas } from '../../src/event/event-schema.ts'
import type { Action, JsonObject, JsonValue, Observation } from '../../src/event/shapes.ts'
import type { Event, EventOf } from '../../src/event/types.ts'
import type { ConversationEvent } from '../../src/index.ts'

type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false

/** Removes differences of style: readonly, and the index signature for unknown fields. */
type Plain<T> = [T, JsonValue] extends [JsonValue, T]
  ? 'any json'
  : [T, JsonObject | null] extends [JsonObject | null, T]
    ? 'any object or null'
    : [T, JsonObject] extends [JsonObject, T]
      ? 'any object'
      : T extends readonly (infer Item)[]
        ? Plain<Item>[]
        : T extends object
          ? { -readonly [K in keyof T as string extends K ? never : K]: Plain<Exclude<T[K], undefined>> }
          : T

type InputOf<Schemas extends Readonly<Record<string, () => z.core.$ZodType>>> = {
  [K in keyof Schemas]: Plain<z.input<ReturnType<Schemas[K]>>>
}

/** Optional fields differ by `undefined`, which JSON cannot contain. */
type NoUndefined<T> = { [K in keyof T]: T[K] extends object ? Optional<T[K]> : T[K] }
type Optional<T> = T extends readonly (infer Item)[]
  ? Optional<Item>[]
  : T extends object
    ? { [K in keyof T]: Optional<Exclude<T[K], undefined>> }
    : T

/** The kinds whose types differ, so that the compiler names them. */
type Differing<A, B> = { [K in keyof A & keyof B]: Same<A[K], B[K]> extends true ? never : K }[keyof A &
  keyof B]

type Written = { [K in EventKind]: Plain<EventOf<K>> }
describe('types and schemas', () => {
  it('have the same 19 kinds', () => {
    expectTypeOf<Event['kind']>().toEqualTypeOf<EventKind>()
    expectTypeOf<ConversationEvent>().toEqualTypeOf<Event>()
    expectTypeOf<keyof typeof eventSchemas>().toEqualTypeOf<EventKind>()
  })

  it('are equal for every event', () => {
    expectTypeOf<Differing<NoUndefined<Written>, NoUndefined<InputOf<typeof eventSchemas>>>>().toBeNever()
  })

  it('are equal for published payloads', () => {
    type Terminal = ActionOf<'TerminalAction'>
    expectTypeOf<Terminal['kind']>().toEqualTypeOf<'TerminalAction'>()
    expectTypeOf<Terminal['command']>().toEqualTypeOf<string>()
    expectTypeOf<Terminal['timeout']>().toEqualTypeOf<number | null | undefined>()
    expectTypeOf<ActionOf<'MCPToolAction'>['data']>().toEqualTypeOf<JsonObject | undefined>()
    expectTypeOf<ObservationOf<'GlobObservation'>['files']>().toEqualTypeOf<readonly string[]>()
    expectTypeOf<ObservationOf<'GlobObservation'>['content']>().toEqualTypeOf<Observation['content']>()
    expectTypeOf<ActionOf<'DelegateAction'>['tasks']>().toEqualTypeOf<
      Readonly<Record<string, string>> | null | undefined
    >()
    expectTypeOf<ObservationOf<'ApplyPatchObservation'>['commit']>().toEqualTypeOf<
      JsonObject | null | undefined
    >()
    expectTypeOf<NonNullable<ObservationOf<'TerminalObservation'>['metadata']>>().toEqualTypeOf<{
      readonly exit_code?: number
      readonly pid?: number
      readonly username?: string | null
      readonly hostname?: string | null
      readonly working_dir?: string | null
      readonly py_interpreter_path?: string | null
      readonly prefix?: string
      readonly suffix?: string
    }>()
    expectTypeOf<NonNullable<ObservationOf<'ListDirectoryObservation'>['entries']>>().toEqualTypeOf<
      readonly { readonly name: string; readonly path: string }[]
    >()
    expectTypeOf<PublishedAction>().toExtend<Action>()
    expectTypeOf<PublishedObservation>().toExtend<Observation>()
  })
})
