/**
 * Error responses (law W6) describe the problem and its location, in bounded size, without a secret of the
 * request.
 */

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { createService } from '../../src/service/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { RUNS } from '../../properties/run.ts'
import { clientOver } from './client.ts'

/** Must not appear: a text in the form of a secret, and a value of secret fields. */
const TOKEN = 'sk-ant-REALKEY0123456789abcdef'
const VALUE = 'hunter2-hunter2'
const NAMES = ['api_key', 'password', 'accessToken', 'X-Authorization', 'aws_secret']

/** Maximum bytes of an error response. */
const MAX_BYTES = 32_768

const secret = fc.oneof(
  fc.constant(TOKEN),
  fc.nat(100_000).map((length) => `${'x'.repeat(length)} ${TOKEN}`),
  fc.nat(100_000).map((length) => `${TOKEN} ${'x '.repeat(length / 2)}`),
  fc.constantFrom(...NAMES).map((name) => ({ [name]: VALUE })),
  fc.constantFrom(...NAMES).map((name) => ({ [name]: [{ deep: VALUE }, VALUE] })),
  fc.constant({ [TOKEN]: 1 }),
  fc.constantFrom(...NAMES).map((name) => JSON.stringify({ [name]: VALUE })),
)
const FIELDS = [
  'llm',
  'title',
  'tags',
  'content',
  'action',
  'event',
  'run',
  'metadata',
  'id',
  'role',
  'x',
  ...NAMES,
]
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6 },
    secret,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...FIELDS), tie('value'), { maxKeys: 4 }),
  ),
}))
const wide = fc
  .nat(2_000)
  .map((length) =>
    Object.fromEntries(Array.from({ length }, (_, index) => [`${TOKEN}${index}`, { password: VALUE }])),
  )
const deep = fc.integer({ min: 1, max: 200 }).map((depth) => {
  let inner: unknown = { password: VALUE }
  for (let index = 0; index < depth; index += 1)
    inner = { [`field ${'x'.repeat(500)}`]: inner, [TOKEN]: TOKEN }
  return inner
})

/** Names that JSON writes at six times their length, around values that no event can contain. */
const escaped = fc.constantFrom('\u0001', '\u{1f600}', 'x').map((letter) => {
  const name = letter.repeat(70)
  const values = `[${Array.from({ length: 30 }, () => '1e999').join()}]`
  return `{"${JSON.stringify(name).slice(1, -1)}":`.repeat(20) + values + '}'.repeat(20)
})

/** Any text in a secret field is a secret. */
const body = fc
  .oneof(value, wide, deep)
  .map((input) =>
    JSON.stringify(input, (key, one: unknown) =>
      NAMES.includes(key) && typeof one === 'string' ? VALUE : one,
    ),
  )

describe('an error response', async () => {
  const lines: unknown[] = []
  const client = await clientOver(memoryStore(), { log: (line) => void lines.push(line) })
  const document = (
    await client.get<{ paths: Record<string, Record<string, { requestBody?: unknown }>> }>('/openapi.json')
  ).body
  const withBody = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) =>
      requestBody === undefined ? [] : [[method, path] as const],
    ),
  )

  const check = async (method: string, path: string, text?: string): Promise<number> => {
    lines.length = 0
    const init = text === undefined ? {} : { body: text, headers: { 'content-type': 'application/json' } }
    const answer = await client.send(path, { method: method.toUpperCase(), ...init })
    const report = JSON.stringify([answer.status < 400 ? null : answer.body, lines])
    expect(report).not.toContain('REALKEY')
    expect(report).not.toContain(VALUE)
    expect(Buffer.byteLength(report)).toBeLessThan(MAX_BYTES)
    return answer.status
  }

  it.each(withBody)(
    'to %s %s contains no secret of the body, and stays below 32 KiB',
    async (method, path) => {
      const statuses: number[] = []
      const url = path.replaceAll(/\{\w+\}/g, 'x')
      await fc.assert(
        fc.asyncProperty(fc.oneof({ weight: 4, arbitrary: body }, escaped), async (text) => {
          statuses.push(await check(method, url, text))
        }),
        // The example is certainly invalid.
        { numRuns: Math.ceil(RUNS / 12), examples: [['7']] },
      )
      expect(statuses).toContain(422)
    },
  )

  it('contains no secret of a query parameter or an unknown path', async () => {
    for (const query of ['limit', 'kind__eq', 'sort_order', 'timestamp__gte', 'page_id'])
      expect(await check('get', `/api/shared-events/search?conversation_id=c&${query}=${TOKEN}`)).toBe(422)
    for (const path of [
      `/api/conversations/${TOKEN}`,
      `/api/${TOKEN}`,
      `/api/conversations/${'x'.repeat(9_000)}`,
    ])
      expect(await check('get', path)).toBeGreaterThanOrEqual(404)
  })
})

it('`createService` rejects an invalid `maxSandboxes` with a code', () => {
  const engine = createEngine({ store: memoryStore() })
  for (const maxSandboxes of [0, 1.5, Number.NaN]) {
    const make = () => createService({ engine, controlPlane: { maxSandboxes } })
    expect(make).toThrow(
      expect.objectContaining({ code: 'invalid_argument', data: { field: 'maxSandboxes' } }),
    )
  }
})
