/**
 * Tool results: the model can read any value that a tool returns. Bytes, errors and built-in objects are never
 * sent as `{}`, and files are never sent as base64 text.
 */

import { runInNewContext } from 'node:vm'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeEvent } from '../../src/event/decode.ts'
import type { Observation } from '../../src/event/shapes.ts'
import { LIMITS as AI_SDK } from '../../src/messages/ai-sdk/blocks.ts'
import { LIMITS as ANTHROPIC } from '../../src/messages/anthropic/blocks.ts'
import { errorText, readModelOutput, readToolResult } from '../../src/messages/tool-result.ts'
import { costOf } from '../growth.ts'

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const PDF = 'JVBERi0xLjcK'
const WAV = 'UklGRiQAAABXQVZF'
const CSV = 'YSxiCjEsMgo='
const LONG_CSV = Buffer.from('a,b\n'.repeat(21)).toString('base64')
const SHOT = { type: 'image', image_urls: [`data:image/png;base64,${PNG}`] }
const FOLLOWS = '"[Part 1, which follows]"'
const bytes = (base64: string): Uint8Array => new Uint8Array(Buffer.from(base64, 'base64'))

const text = (value: string) => ({ type: 'text', text: value })
const file = (mediaType: string, data: string, filename?: string) => ({
  type: 'file',
  mediaType,
  data: { type: 'data', data },
  ...(filename === undefined ? {} : { filename }),
})

const read = (output: unknown): Observation => readToolResult(output, ANTHROPIC.parts.kinds)

class Point {
  readonly x = 1
}
class Empty {
  readonly #hidden = 1
  hidden = (): number => this.#hidden
}
class Silent {
  readonly #hidden = 1
  get hidden(): number {
    return this.#hidden
  }
}

const cycle: Record<string, unknown> = { a: 1 }
cycle['me'] = cycle
const deep = Array.from({ length: 600 }).reduce<unknown>((inner) => [inner], 1)
const throwing = {
  get a(): never {
    throw new Error('no a')
  },
  b: 2,
}
const unreadable = new Proxy(
  {},
  {
    ownKeys() {
      throw new Error('closed')
    },
  },
)

/** Results of FastMCP, and the texts in which it repeats them. */
const REPEATED: readonly (readonly [unknown, ...string[]])[] = [
  ['hi', 'hi'],
  ['5', '5'],
  [5, '5'],
  [true, 'true'],
  [['a', '1'], 'a', '1'],
  [[{ x: 1, y: 2 }, { x: 2 }], '{ "y": 2, "x": 1 }', '{"x":2}'],
  [[{ x: 1 }], '[{"x":1}]'],
]

/** Claims to be a map, and yields without end. */
const endless = {
  [Symbol.toStringTag]: 'Map',
  a: 1,
  *[Symbol.iterator]() {
    for (let count = 0; ; count += 1) yield [`k${count}`, count]
  },
}

describe('readToolResult', () => {
  it.each<readonly [string, unknown, readonly unknown[], boolean?]>([
    // MCP
    ['MCP error', { content: [text('No such file')], isError: true }, [text('No such file')], true],
    ['MCP success', { content: [text('ok')], isError: false, _meta: { a: 1 } }, [text('ok')]],
    ['MCP image', { content: [{ type: 'image', data: PNG, mimeType: 'image/png' }] }, [SHOT]],
    ['MCP image alone', [{ type: 'image', data: PNG, mimeType: 'image/png' }], [SHOT]],
    ['one block', { type: 'image', data: PNG, mimeType: 'image/png' }, [SHOT]],
    [
      'MCP audio',
      { content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }] },
      [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
    ],
    [
      'MCP resource of text',
      { content: [{ type: 'resource', resource: { uri: 'file:///a.txt', text: 'words' } }] },
      [{ type: 'resource', resource: { uri: 'file:///a.txt', text: 'words' } }],
    ],
    [
      'MCP resource of bytes',
      [{ type: 'resource', resource: { uri: 'f:///p.pdf', mimeType: 'application/pdf', blob: PDF } }],
      [{ type: 'resource', resource: { uri: 'f:///p.pdf', mimeType: 'application/pdf', blob: PDF } }],
    ],
    [
      'MCP link',
      { content: [{ type: 'resource_link', uri: 'https://a.b/c', name: 'c', mimeType: 'text/html' }] },
      [{ type: 'resource_link', uri: 'https://a.b/c', name: 'c', mimeType: 'text/html' }],
    ],
    ['MCP annotations', [{ ...text('words'), annotations: { audience: ['assistant'] } }], [text('words')]],
    ['MCP empty', { content: [] }, []],
    ['MCP error as a text', { content: 'No such file', isError: true }, [text('No such file')], true],
    ['MCP error without content', { content: null, isError: true }, [], true],
    ['MCP error with another field', { isError: true, error: 'full' }, [text('{"error":"full"}')], true],
    ['error in snake case', { content: [text('full')], is_error: true }, [text('full')], true],
    ['MCP structured only', { content: null, structuredContent: { a: 1 } }, [text('{"a":1}')]],
    ['MCP structured null', { content: [text('a')], structuredContent: null }, [text('a')]],
    ['MCP structured', { content: [], structuredContent: { a: 1 } }, [text('{"a":1}')]],
    [
      'MCP structured, repeated as text',
      { content: [text('{ "b": [2], "a": 1 }')], structuredContent: { a: 1, b: [2] } },
      [text('{ "b": [2], "a": 1 }')],
    ],
    ...REPEATED.map(
      ([value, ...texts]) =>
        [
          `MCP structured, repeated by FastMCP: ${JSON.stringify(value)}`,
          { content: texts.map(text), structuredContent: { result: value } },
          texts.map(text),
        ] as const,
    ),
    [
      'MCP structured list, repeated as one text for each item',
      { content: [text('{"x":1}'), text('2')], structuredContent: [{ x: 1 }, 2] },
      [text('{"x":1}'), text('2')],
    ],
    [
      'MCP structured number, repeated',
      { content: [text('5')], structuredContent: 5, isError: false },
      [text('5')],
    ],
    [
      'MCP structured image, repeated by FastMCP',
      {
        content: [{ type: 'image', data: PNG, mimeType: 'image/png' }, text('a')],
        structuredContent: {
          result: [
            { type: 'image', data: PNG, mimeType: 'image/png', annotations: null, _meta: null },
            { ...text('a'), annotations: null },
          ],
        },
      },
      [SHOT, text('a')],
    ],
    [
      'MCP structured, repeated in part',
      { content: [text('a')], structuredContent: { result: ['a', 'b'] } },
      [text('a'), text('{"result":["a","b"]}')],
    ],
    [
      'MCP structured, repeated except for a field',
      { content: [text('a')], structuredContent: { result: 'a', cost: 2 } },
      [text('a'), text('{"result":"a","cost":2}')],
    ],
    [
      'MCP structured empty list',
      { content: [], structuredContent: { result: [] } },
      [text('{"result":[]}')],
    ],
    [
      'MCP structured next to other text',
      { content: [text('Mild')], structuredContent: { t: 17 } },
      [text('Mild'), text('{"t":17}')],
    ],
    [
      'MCP block of an unknown type',
      { content: [text('a'), { type: 'hologram', z: 1 }], isError: false },
      [text('a'), text('{"type":"hologram","z":1}')],
    ],
    [
      'MCP with unknown fields',
      { content: [text('a')], isError: false, cost: 2 },
      [text('a'), text('{"cost":2}')],
    ],
    // Blocks of the grammars
    [
      'Anthropic image',
      [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG } }],
      [SHOT],
    ],
    [
      'Anthropic image by URL',
      [{ type: 'image', source: { type: 'url', url: 'https://a.b/c.png' } }],
      [{ type: 'image', image_urls: ['https://a.b/c.png'] }],
    ],
    [
      'LangChain image by URL',
      [{ type: 'image', url: 'https://a.b/c.png' }],
      [{ type: 'image', image_urls: ['https://a.b/c.png'] }],
    ],
    [
      'row with the address of an image and a title',
      [{ type: 'image', url: 'https://a.b/c.png', title: 'A' }],
      [text('[{"type":"image","url":"https://a.b/c.png","title":"A"}]')],
    ],
    [
      'row with a path of an image',
      [{ type: 'image', url: '/images/cat1' }],
      [text('[{"type":"image","url":"/images/cat1"}]')],
    ],
    ['Google image', [{ inlineData: { mimeType: 'image/png', data: PNG } }], [SHOT]],
    [
      'Bedrock image',
      [{ image: { format: 'png', source: { bytes: bytes(PNG) } } }, { text: 'a' }],
      [SHOT, { text: 'a' }],
    ],
    [
      'Bedrock document',
      [{ document: { format: 'pdf', name: 'a', source: { bytes: bytes(PDF) } } }],
      [file('application/pdf', PDF, 'a')],
    ],
    [
      'AI SDK bytes',
      [{ type: 'file', mediaType: 'application/pdf', data: bytes(PDF) }],
      [{ type: 'file', mediaType: 'application/pdf', data: PDF }],
    ],
    [
      'an observation with MCP blocks',
      { kind: 'Shot', content: [{ type: 'image', data: PNG, mimeType: 'image/png' }], size: 4n },
      [SHOT],
    ],
    // Errors
    ['Error', new Error('disk full'), [text('disk full')], true],
    ['cause', new Error('a', { cause: new Error('b') }), [text('a\nCaused by: b')], true],
    [
      'Error in an object',
      { error: new Error('disk full') },
      [text('{"error":{"name":"Error","message":"disk full"}}')],
    ],
    // Bytes
    ['bytes of an image', bytes(PNG), [SHOT]],
    ['bytes of text', bytes(CSV), [text('a,b\n1,2\n')]],
    ['bytes of a PDF', bytes(PDF).buffer, [file('application/pdf', PDF, '9 bytes')]],
    ['other bytes', new Uint8Array([0, 255]), [file('application/octet-stream', 'AP8=', '2 bytes')]],
    ['empty bytes', new Uint8Array(), []],
    ['bytes of another realm', runInNewContext('new Uint8Array([97, 98])'), [text('ab')]],
    [
      'an image in an object',
      { status: 'ok', shots: [bytes(PNG), { type: 'image', data: PNG, mimeType: 'image/png' }] },
      [text('{"status":"ok","shots":["[Part 1, which follows]","[Part 2, which follows]"]}'), SHOT, SHOT],
    ],
    ['empty bytes in an object', { table: new Uint8Array() }, [text('{"table":""}')]],
    ['a buffer in JSON', { shot: Buffer.from(PNG, 'base64').toJSON() }, [text(`{"shot":${FOLLOWS}}`), SHOT]],
    ['a row of the type Buffer', { type: 'Buffer', data: ['a'] }, [text('{"type":"Buffer","data":["a"]}')]],
    // Strings with files
    ['an image in base64', PNG, [SHOT]],
    ['an image in lines of base64', `${PNG.slice(0, 76)}\n${PNG.slice(76)}\n`, [SHOT]],
    ['a data URL', `data:image/png;base64,${PNG}`, [SHOT]],
    ['a data URL of text', `data:text/csv;base64,${LONG_CSV}`, [file('text/csv', LONG_CSV)]],
    ['an OpenAI image', { data: [{ b64_json: PNG }] }, [text(`{"data":[{"b64_json":${FOLLOWS}}]}`), SHOT]],
    [
      'structured image',
      { structuredContent: { url: SHOT.image_urls[0] } },
      [text(`{"url":${FOLLOWS}}`), SHOT],
    ],
    ['a short word of base64', '/9j/abcd', [text('/9j/abcd')]],
    ['a sentence', `/9j/ ${'word '.repeat(20)}`, [text(`/9j/ ${'word '.repeat(20)}`)]],
    ['a data URL without base64', 'data:,a%20b', [text('data:,a%20b')]],
    [
      'a text that begins with a data URL',
      `data:text/csv;base64,${LONG_CSV} has rows`,
      [text(`data:text/csv;base64,${LONG_CSV} has rows`)],
    ],
    ['text bytes in an object', { table: bytes(CSV) }, [text('{"table":"a,b\\n1,2\\n"}')]],
    [
      'a CSV file in an object',
      { file: { type: 'media', mediaType: 'text/csv', data: CSV } },
      [text('{"file":"a,b\\n1,2\\n"}')],
    ],
    // Values outside JSON
    ['Map', new Map([['a', new Set([1])]]), [text('[["a",[1]]]')]],
    ['empty Map', new Map(), [text('[]')]],
    ['BigInt', 9n, [text('9')]],
    ['numbers', [Number.NaN, -Infinity], [text('["NaN","-Infinity"]')]],
    ['cycle', cycle, [text('{"a":1,"me":"[Circular]"}')]],
    ['function', { f: () => 1, g: Symbol('s') }, [text('{"f":"[Function f]","g":"Symbol(s)"}')]],
    ['getter that throws', throwing, [text('{"a":"[Unreadable: no a]","b":2}')]],
    ['proxy that throws', unreadable, [text('[Unreadable: closed]')]],
    ['Date', [new Date(0), new Date(Number.NaN)], [text('["1970-01-01T00:00:00.000Z","Invalid Date"]')]],
    ['RegExp', /a/g, [text('/a/g')]],
    [
      'only the tag of a boxed value',
      { [Symbol.toStringTag]: 'Number', valueOf: () => ({ n: 1 }), a: 1 },
      [text('{"valueOf":"[Function valueOf]","a":1}')],
    ],
    ['boxed', [new Object('a'), { n: new Object(5) }, new Object(true)], [text('["a",{"n":5},true]')]],
    ['URL', new URL('https://a.b/c'), [text('https://a.b/c')]],
    ['URLSearchParams', new URLSearchParams('a=1'), [text('[["a","1"]]')]],
    ['Promise', [Promise.resolve(1)], [text('["[Promise]"]')]],
    ['class instance', new Point(), [text('{"x":1}')]],
    [
      'class instances without fields',
      [new Silent(), new Empty()],
      [text('["[Silent]",{"hidden":"[Function hidden]"}]')],
    ],
    ['typed array of numbers', new Float64Array([1.5, 2]), [text('[1.5,2]')]],
    ['Blob', new Blob(['abc'], { type: 'text/plain' }), [text('[Blob: text/plain, 3 bytes, not read]')]],
    ['false toStringTag', { [Symbol.toStringTag]: 'Map', a: 1 }, [text('{"a":1}')]],
    ['endless iterator behind a false toStringTag', endless, [text('{"a":1}')]],
    [
      'toJSON that throws',
      { a: 1, toJSON: () => JSON.parse('{') as unknown },
      [text('{"a":1,"toJSON":"[Function toJSON]"}')],
    ],
    ['`__proto__`', JSON.parse('{"__proto__":{"a":1}}'), [text('{"__proto__":{"a":1}}')]],
    ['lone surrogate', 'a\ud800', [text('a\ufffd')]],
    // Rows that only resemble content
    ['row with a text', [{ ...text('a'), score: 1 }], [text('[{"type":"text","text":"a","score":1}]')]],
    ['row with content', { content: [1] }, [text('{"content":[1]}')]],
    [
      'row with content and more',
      { content: [text('a')], total: 1 },
      [text('{"content":[{"type":"text","text":"a"}],"total":1}')],
    ],
  ])('converts: %s', (_, output, content, isError = false) => {
    const result = read(output)
    expect(result.content).toEqual(content)
    expect(result.is_error === true).toBe(isError)
  })

  it('reads an image of a megabyte next to structured content in less than a second', () => {
    const image = { type: 'image', data: new Uint8Array(1_000_000), mimeType: 'image/png' }
    expect(costOf(() => read({ content: [image], structuredContent: { a: 1 } }))).toBeLessThan(1000)
  })

  it('replaces values that are nested more than 500 levels deep by a note', () => {
    expect(JSON.stringify(read(deep))).toContain('[Left out: nested more than 500 deep]')
  })

  it('replaces values beyond the first million by a note', () => {
    let shared: unknown = ['x']
    for (let depth = 0; depth < 60; depth += 1) shared = [shared, shared]
    expect(JSON.stringify(read(shared))).toContain('[Left out: more than 1000000 values]')
    expect(JSON.stringify(read({ sparse: Object.assign([], { length: 2 ** 31 }) }))).toContain('Left out')
  })
})

describe('readModelOutput', () => {
  it.each<readonly [string, unknown, readonly unknown[], boolean?]>([
    [
      'image-data',
      { type: 'content', value: [{ type: 'image-data', data: PNG, mediaType: 'image/png' }] },
      [{ type: 'image-data', data: PNG, mediaType: 'image/png' }],
    ],
    [
      'media of version 5',
      { type: 'content', value: [{ type: 'media', data: PNG, mediaType: 'image/png' }] },
      [{ type: 'media', data: PNG, mediaType: 'image/png' }],
    ],
    [
      'file-data PDF',
      {
        type: 'content',
        value: [{ type: 'file-data', data: PDF, mediaType: 'application/pdf', filename: 'a.pdf' }],
      },
      [{ type: 'file-data', data: PDF, mediaType: 'application/pdf', filename: 'a.pdf' }],
    ],
    [
      'file-url',
      { type: 'content', value: [{ type: 'file-url', url: 'https://x.org/a.pdf' }] },
      [{ type: 'file-url', url: 'https://x.org/a.pdf' }],
    ],
    [
      'file of version 7',
      { type: 'content', value: [file('application/pdf', PDF)] },
      [file('application/pdf', PDF)],
    ],
    [
      'file of bytes',
      { type: 'content', value: [{ ...file('image/png', ''), data: { type: 'data', data: bytes(PNG) } }] },
      [file('image/png', PNG)],
    ],
    [
      'file by URL',
      {
        type: 'content',
        value: [
          { type: 'file', mediaType: 'image', data: { type: 'url', url: new URL('https://a.b/c.png') } },
        ],
      },
      [{ type: 'file', mediaType: 'image', data: { type: 'url', url: 'https://a.b/c.png' } }],
    ],
    [
      'custom',
      { type: 'content', value: [{ type: 'custom', providerOptions: { x: { a: 1 } } }] },
      [{ type: 'custom', providerOptions: { x: { a: 1 } } }],
    ],
    ['text', { type: 'text', value: 'a' }, [text('a')]],
    ['json', { type: 'json', value: { a: 1 } }, [text('{"a":1}')]],
    ['error-text', { type: 'error-text', value: 'bad' }, [text('bad')], true],
    ['error-json', { type: 'error-json', value: { a: 1 } }, [text('{"a":1}')], true],
    ['execution-denied', { type: 'execution-denied', reason: 'no' }, [text('no')], true],
    ['a plain text', 'a', [text('a')]],
    ['undefined', undefined, []],
  ])('converts: %s', (_, output, content, isError = false) => {
    const result = readModelOutput(output, AI_SDK.parts.kinds)
    expect(result.content).toEqual(content)
    expect(result.is_error === true).toBe(isError)
  })
})

/** Values that libraries return, and hostile ones. */
const hostile = fc.letrec<{ value: unknown; block: unknown }>((tie) => ({
  block: fc.record(
    {
      type: fc.constantFrom(
        'text',
        'image',
        'audio',
        'resource',
        'resource_link',
        'file',
        'document',
        'media',
        7,
      ),
      text: fc.oneof(fc.string(), tie('value')),
      data: fc.oneof(fc.constantFrom(PNG, PDF, CSV, '!', ''), tie('value')),
      mimeType: fc.constantFrom('image/png', 'text/csv', 'audio/wav', '', 5),
      source: tie('value'),
      resource: tie('value'),
      image_urls: tie('value'),
    },
    { requiredKeys: [] },
  ),
  value: fc.oneof(
    { maxDepth: 4 },
    fc.anything({ withBigInt: true, withDate: true, withMap: true, withSet: true, withTypedArray: true }),
    fc.constantFrom<unknown>(
      throwing,
      unreadable,
      cycle,
      new Error('x'),
      bytes(PNG),
      Symbol.iterator,
      () => 1,
      new Silent(),
    ),
    fc.array(tie('block'), { maxLength: 3 }),
    fc.record(
      {
        content: fc.array(tie('block'), { maxLength: 3 }),
        isError: fc.boolean(),
        structuredContent: tie('value'),
        kind: fc.string(),
      },
      { requiredKeys: [] },
    ),
    tie('block'),
  ),
})).value

it('readToolResult reads a deep tree of objects with a type in less than a second', () => {
  const more = 'x'.repeat(3000)
  let tree: object = { type: 'leaf', more }
  for (let depth = 0; depth < 480; depth += 1) tree = { type: 'node', more, child: tree }
  expect(costOf(() => read(tree))).toBeLessThan(1000)
  expect(read(tree).content).toEqual([text(JSON.stringify(tree))])
})

describe('readToolResult with arbitrary values', () => {
  it('never throws, and returns the same JSON each time', () => {
    fc.assert(
      fc.property(hostile, (value) => {
        for (const result of [readToolResult(value, {}), readModelOutput(value, AI_SDK.parts.kinds)]) {
          expect(JSON.parse(JSON.stringify(result))).toEqual(result)
          expect(typeof result.kind).toBe('string')
        }
        expect(read(value)).toEqual(read(value))
        expect(typeof errorText(value)).toBe('string')
      }),
      { numRuns: 200 },
    )
  })

  it('returns plain JSON as JSON text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const { content } = read([value, null])
        expect(content).toEqual([text(JSON.stringify([value, null]).toWellFormed())])
      }),
    )
  })

  it('keeps every text and number of sets, maps and errors, and never returns `{}`', () => {
    const leaf = fc.oneof(fc.string({ minLength: 1, unit: 'grapheme-ascii' }), fc.integer())
    const holder = fc.letrec<{ any: unknown }>((tie) => ({
      any: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.array(tie('any'), { minLength: 1, maxLength: 3 }).map((list) => new Set(list)),
        fc.array(fc.tuple(leaf, tie('any')), { minLength: 1, maxLength: 3 }).map((list) => new Map(list)),
        fc.string({ minLength: 1, unit: 'grapheme-ascii' }).map((message) => ({ e: new Error(message) })),
      ),
    })).any
    const leaves = (value: unknown): unknown[] => {
      if (value instanceof Set) return [...value].flatMap(leaves)
      if (value instanceof Map) return [...value].flat().flatMap(leaves)
      return typeof value === 'object' && value !== null ? [(value as { e: Error }).e.message] : [value]
    }
    fc.assert(
      fc.property(holder, (value) => {
        const shown = JSON.stringify(JSON.stringify(read(new Set([value]))))
        for (const each of leaves(value))
          expect(shown).toContain(
            JSON.stringify(JSON.stringify(JSON.stringify(each).slice(1, -1)).slice(1, -1)).slice(1, -1),
          )
        expect(shown).not.toContain('{}')
      }),
    )
  })

  it('returns a valid observation for an MCP resource', () => {
    const result = read({ content: [{ type: 'resource', resource: { uri: 'a', blob: CSV } }], isError: true })
    const event = {
      kind: 'ObservationEvent',
      source: 'environment',
      tool_name: 'a',
      tool_call_id: 'b',
      action_id: 'c',
      observation: result,
    }
    expect(decodeEvent(event).ok).toBe(true)
  })
})
