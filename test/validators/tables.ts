/** Runs a validator on tables of valid and invalid requests, and checks that every rule is tested. */

import { describe, expect, test } from 'vitest'
import type { Rules, Violation } from '../../src/messages/request-form.ts'

export interface Good {
  readonly name: string
  readonly request: unknown
}

export interface Broken {
  readonly name: string
  readonly request: unknown
  /** Exactly the rules that it breaks. */
  readonly breaks: readonly string[]
}

export interface Tables {
  readonly validate: (request: unknown) => Violation[]
  readonly rules: Rules<never>
  readonly good: readonly Good[]
  readonly broken: readonly Broken[]
  /** Rules that other tests break, because they need more than a request. */
  readonly elsewhere?: readonly string[]
}

/** Rows with their names in front. Unlike `$name`, `%s` does not truncate a name in a title. */
export const byName = <Row extends { readonly name: string }>(rows: readonly Row[]) =>
  rows.map((row) => [row.name, row] as const)

export function testTables({ validate, rules, good, broken, elsewhere = [] }: Tables): void {
  describe('valid requests', () => {
    test.each(byName(good))('the validator accepts %s', (_, { request }) => {
      expect(validate(request)).toEqual([])
    })
  })

  describe('invalid requests', () => {
    const named = broken.map(
      (each) => [each.breaks.map((rule) => `\`${rule}\``).join(', '), each.name, each] as const,
    )
    test.each(named)('the validator reports %s for %s', (_, __, { request, breaks }) => {
      const matches = new Set(validate(request).map(({ rule }) => rule))
      expect([...matches].toSorted()).toEqual([...breaks].toSorted())
    })
  })

  describe('the table of rules', () => {
    test('has a sentence and a source for each rule', () => {
      for (const [rule, source] of Object.values(rules)) {
        expect(rule).toMatch(/^[A-Z].*\.$/)
        expect(source).not.toBe('')
      }
    })

    test('contains exactly the rules that invalid requests break', () => {
      const exercised = new Set([...broken.flatMap(({ breaks }) => breaks), ...elsewhere])
      expect([...exercised].toSorted()).toEqual(Object.keys(rules).toSorted())
    })
  })

  describe('arbitrary values', () => {
    test.each(JUNK.map((junk) => ({ junk })))('the validator rejects $junk', ({ junk }) => {
      expect(validate(junk)).not.toEqual([])
    })

    test('the validator does not throw for junk anywhere in a valid request', () => {
      for (const { request } of good) {
        for (const damaged of withJunk(request)) expect(Array.isArray(validate(damaged))).toBe(true)
      }
    })

    test('the validator does not change a request', () => {
      for (const { request } of [...good, ...broken]) {
        const before = JSON.stringify(request)
        validate(request)
        expect(JSON.stringify(request)).toBe(before)
      }
    })
  })
}

const JUNK: readonly unknown[] = [undefined, null, 7, 'text', true, [null], [7], [[]], [{}], { messages: 7 }]

/** Yields copies of a value with junk in one position. */
function* withJunk(value: unknown): Generator<unknown> {
  yield* JUNK
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const junk of withJunk(item)) yield value.with(index, junk)
    }
  } else if (typeof value === 'object' && value !== null && !(value instanceof URL)) {
    for (const [name, field] of Object.entries(value)) {
      for (const junk of withJunk(field)) yield { ...value, [name]: junk }
    }
  }
}
