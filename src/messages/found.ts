/** Reads what a provider sent without trusting its shape: replies come from many servers, and a reader never throws. */

import { isObject } from '../event/json.ts'
import type { JsonObject } from '../event/shapes.ts'
import { type RecordedUsage, shortUsage } from './reply-usage.ts'

/** An object of which nothing is known. */
export type Found = Readonly<Record<string, unknown>>

/** The value where it is an object, else an empty one. */
export const objectOf = (value: unknown): Found => (isObject(value) ? value : NOTHING)

const NOTHING: Found = Object.freeze({})

/** The values of a list, an empty object for each that is none; nothing where it is no list. */
export const objectsOf = (value: unknown): readonly Found[] =>
  !Array.isArray(value) ? NONE : value.every(isObject) ? value : value.map(objectOf)

const NONE: readonly Found[] = Object.freeze([])

/** The value where it is a text, else an empty one. */
export const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** What a provider or a proxy says in the place of a reply: that there is none, or not all of it. */
export interface Failure {
  readonly type: 'failed'
  readonly explanation: string | null
}

/** What an `error` beside or in the place of a reply says; null where there is none. O(1). */
export function failureOf({ error }: Found): Failure | null {
  return error === null || error === undefined
    ? null
    : failedWith(stringOf(objectOf(error)['message']) || stringOf(error))
}

/** A failure in the words of the provider, where there are any. */
export const failedWith = (words: unknown): Failure => ({
  type: 'failed',
  explanation: stringOf(words) || null,
})

/**
 * What an object says beside the fields that are named: nulls and empty lists say nothing. Null where it says nothing
 * more. O(fields).
 */
export function moreOf(value: Found, ...known: readonly string[]): JsonObject | null {
  // Mostly there is nothing more, and nothing is made.
  let more: string[] | null = null
  for (const key in value)
    if (!known.includes(key) && Object.hasOwn(value, key) && saysMore(value[key])) (more ??= []).push(key)
  return more === null ? null : (Object.fromEntries(more.map((key) => [key, value[key]])) as JsonObject)
}

const saysMore = (field: unknown): boolean =>
  field !== null && field !== undefined && !(Array.isArray(field) && field.length === 0)

/** What a provider counted, as a record has it. O(size). */
export const usageOf = (value: unknown): RecordedUsage =>
  isObject(value) ? shortUsage(value as JsonObject) : NOTHING

/**
 * A value as JSON text; as it is where it is a text already. Empty where it is nested too deep for any writer. O(size).
 */
export function textOfInput(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value ?? {})
  } catch {
    return TOO_DEEP
  }
}

/**
 * What {@link textOfInput} is written from, where that is an object which nothing will change: it need not be read from
 * the text again. O(1).
 */
export const frozenInput = (value: unknown): JsonObject | null =>
  isObject(value) && Object.isFrozen(value) ? (value as JsonObject) : null

/** No JSON, so that a call with it is not executed. */
const TOO_DEEP = '(nested too deep to be written)'

/** What a provider sent as it is: it was JSON. */
export const asJson = (value: Found): JsonObject => value as JsonObject
