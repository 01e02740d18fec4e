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
} from '../../src/event/published/payloads.ts'
import type { actionSchemas, observationSchemas } from '../../src/event/published/payload-schema.ts'
import type { eventSchemas } from '../../src/event/event-schema.ts'
import type { JsonObject, JsonValue } from '../../src/event/shapes.ts'
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

type InputOf<Schemas> = {
  [K in keyof Schemas]: Schemas[K] extends z.core.$ZodType ? Plain<z.input<Schemas[K]>> : never
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
type WrittenAction = { [K in PublishedAction['kind']]: Plain<ActionOf<K>> }
type WrittenObservation = {
  [K in PublishedObservation['kind']]: Omit<Plain<ObservationOf<K>>, 'content' | 'is_error'>
}

describe('types and schemas', () => {
  it('name the same 19 events', () => {
    expectTypeOf<Event['kind']>().toEqualTypeOf<EventKind>()
    expectTypeOf<ConversationEvent>().toEqualTypeOf<Event>()
    expectTypeOf<keyof typeof eventSchemas>().toEqualTypeOf<EventKind>()
    expectTypeOf<PublishedAction['kind']>().toEqualTypeOf<keyof typeof actionSchemas>()
    expectTypeOf<PublishedObservation['kind']>().toEqualTypeOf<keyof typeof observationSchemas>()
  })

  it('say the same of every event', () => {
    expectTypeOf<Differing<NoUndefined<Written>, NoUndefined<InputOf<typeof eventSchemas>>>>().toBeNever()
  })

  it('say the same of every published action', () => {
    expectTypeOf<
      Differing<NoUndefined<WrittenAction>, NoUndefined<InputOf<typeof actionSchemas>>>
    >().toBeNever()
  })

  it('say the same of every published observation', () => {
    expectTypeOf<
      Differing<NoUndefined<WrittenObservation>, NoUndefined<InputOf<typeof observationSchemas>>>
    >().toBeNever()
  })

  it('would tell a difference', () => {
    type A = { a: { kind: 'a'; x?: string } }
    expectTypeOf<
      Differing<NoUndefined<A>, NoUndefined<{ a: { kind: 'a'; x: string } }>>
    >().toEqualTypeOf<'a'>()
    expectTypeOf<
      Differing<NoUndefined<A>, NoUndefined<{ a: { kind: 'a'; x?: string | null } }>>
    >().toEqualTypeOf<'a'>()
    expectTypeOf<Differing<NoUndefined<A>, NoUndefined<{ a: { kind: 'a' } }>>>().toEqualTypeOf<'a'>()
    expectTypeOf<Differing<NoUndefined<A>, NoUndefined<A>>>().toBeNever()
  })
})
