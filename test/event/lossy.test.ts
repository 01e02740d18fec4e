/**
 * Law E8: numbers that JavaScript changes and duplicate keys are reported at their paths, and nothing
 * else is.
 */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadLine, loadValue } from '../../src/event/load.ts'

/** JSON text, with the paths of its duplicate keys and of its numbers that change. */
interface Text {
  readonly text: string
  readonly wrong: readonly string[]
}

/** A number, and whether serializing it restores the same value. */
const number: fc.Arbitrary<Text> = fc
  .oneof(
    fc.bigInt({ min: 1n - 10n ** 21n, max: 10n ** 21n - 1n }).map(String),
    fc.integer().map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    fc.constantFrom(
      '-0',
      '-0.0',
      '0e5',
      '1.10',
      '1E2',
      '0.1',
      '1e-400',
      '100000000000000000000000',
      '1000000000000000000000',
      '1.0000000000000000001',
    ),
  )
  .map((text) => {
    const again = JSON.stringify(JSON.parse(text))
    const isSame =
      /^-?\d+$/.test(text) && /^-?\d+$/.test(again)
        ? BigInt(text) === BigInt(again) && text !== '-0'
        : SAME.has(text) || (again === text && text !== '-0')
    return { text, wrong: isSame ? [] : ['number_changed'] }
  })

/** Other notations of numbers that do not change. */
const SAME = new Set(['0e5', '1.10', '1E2', '100000000000000000000000', '1000000000000000000000'])

const key = fc.constantFrom('a', 'b', '\\u0061', 'a\\\\', '', 'x\\":', '__proto__')
const space = fc.constantFrom('', '', '', ' ', '\n ')
const scalar: fc.Arbitrary<Text> = fc.oneof(
  number,
  fc
    .oneof(fc.string(), fc.constantFrom('{"a":1,"a":12345678901234567890}', '-0', ' -0 ', '\\'))
    .map((text) => ({
      text: JSON.stringify(text),
      wrong: [],
    })),
  fc.constantFrom('true', 'null', '{}', '[]').map((text) => ({ text, wrong: [] })),
)

const under = (index: string | number, { wrong }: Text): string[] => wrong.map((path) => `${index}.${path}`)

const { json } = fc.letrec<{ json: Text; list: Text; object: Text }>((tie) => ({
  json: fc.oneof({ depthSize: 'small' }, scalar, tie('list'), tie('object')),
  list: fc.array(tie('json'), { maxLength: 3 }).map((items) => ({
    text: `[${items.map(({ text }) => text).join(',')}]`,
    wrong: items.flatMap((item, index) => under(index, item)),
  })),
  object: fc.array(fc.tuple(key, space, tie('json')), { maxLength: 4 }).map((items) => {
    const known = new Set<string>()
    const wrong = items.flatMap(([raw, , item]) => {
      const name = JSON.parse(`"${raw}"`) as string
      const twice = known.has(name) ? [`${name}.duplicate_key`] : []
      known.add(name)
      return [...twice, ...under(name, item)]
    })
    return {
      text: `{${items.map(([raw, gap, { text }]) => `"${raw}"${gap}:${gap}${text}`).join(', ')}}`,
      wrong,
    }
  }),
}))

const lineOf = (value: string): string => `{"kind":"ConversationStateUpdateEvent","key":"k","value":${value}}`

describe('warnings about values that JSON.parse changes', () => {
  it('E8 contain the path of every such value and no other', () => {
    let runs = 0
    const counts = { number_changed: 0, duplicate_key: 0 }
    fc.assert(
      fc.property(json, ({ text, wrong }) => {
        const { fact, warnings } = loadLine(lineOf(text))
        expect(fact).toEqual(JSON.parse(JSON.stringify(JSON.parse(lineOf(text)))))
        expect(warnings.map(({ loc, type }) => [...loc, type].join('.'))).toEqual(
          wrong.map((path) => `value.${path}`),
        )
        runs += 1
        for (const type of ['number_changed', 'duplicate_key'] as const) {
          if (wrong.some((path) => path.endsWith(type))) counts[type] += 1
        }
      }),
      { numRuns: 1_000 },
    )
    for (const count of Object.values(counts)) expect(count * 20).toBeGreaterThan(runs)
  })

  it('E8 omit numbers under secret keys, and are at most 100', () => {
    const [warning] = loadLine(lineOf('{"encrypted_content":1234567890123456789}')).warnings
    expect(warning).toMatchObject({ loc: ['value', 'encrypted_content'], type: 'number_changed' })
    expect(JSON.stringify(warning)).not.toContain('1234567890123456789')
    const many = `[${Array.from({ length: 5_000 }, () => '9007199254740993').join(',')}]`
    expect(loadLine(lineOf(many)).warnings).toHaveLength(100)
  })

  it('E8 include numbers with exponents of any length', () => {
    const [nines, zeros] = ['9'.repeat(100_000), '0'.repeat(100_000)]
    const { warnings } = loadLine(lineOf(`[1e-${nines},1e-${zeros}5,0e-${nines},-0e${nines},1e+${zeros}21]`))
    expect(warnings.map(({ loc }) => loc.join('.'))).toEqual(['value.0', 'value.3'])
  })

  it('E8 are empty for a parsed value, a quarantined line and a current line', () => {
    expect(loadValue({ kind: 'PauseEvent' }).warnings).toEqual([])
    expect(loadLine('{"kind":"Later","kind":"Later"}').warnings).toEqual([])
    expect(loadLine('{"kind":"PauseEvent","timestamp":"2026-01-02T00:00:00.123456"}').warnings).toEqual([])
  })
})
