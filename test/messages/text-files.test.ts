/** Text files: every grammar sends them as text, in user messages and results, from any source. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { OpenPart } from '../../src/event/shapes.ts'
import { base64Of, decodeBase64, decodeText, isTextFile } from '../../src/messages/text-files.ts'
import { GRAMMARS, type GrammarName } from './grammars.ts'

const encoded = (text: string): string => Buffer.from(text).toString('base64')
const dataUrl = (type: string, text: string): string => `data:${type};base64,${encoded(text)}`

/** Files in the formats of UI pages, providers and servers, and the text that the model gets. */
const FILES: readonly (readonly [OpenPart, string])[] = [
  [
    { type: 'file', mediaType: 'text/csv', filename: 'a.csv', data: dataUrl('text/csv', 'a,b\n1,2') },
    'a.csv\na,b\n1,2',
  ],
  [{ type: 'file', mediaType: 'text/plain', data: dataUrl('text/plain', 'words') }, 'words'],
  [{ type: 'file', mediaType: 'application/json', data: encoded('{"a":1}') }, '{"a":1}'],
  [{ type: 'file', mediaType: 'text/markdown', data: { type: 'data', data: encoded('# A') } }, '# A'],
  [{ type: 'file', mediaType: 'text/csv', data: 'data:text/csv,a%2C%C3%A9' }, 'a,é'],
  [
    { type: 'file', file: { filename: 'a.json', file_data: dataUrl('application/json', '[]') } },
    'a.json\n[]',
  ],
  [{ type: 'file', file: { filename: 'a.md', file_data: encoded('# B') } }, 'a.md\n# B'],
  [{ type: 'document', source: { type: 'base64', media_type: 'text/csv', data: encoded('x;y') } }, 'x;y'],
  [{ type: 'file-data', mediaType: 'image/svg+xml', data: encoded('<svg/>') }, '<svg/>'],
  [{ type: 'file', mediaType: '', filename: 'a.kt', data: encoded('fun a()') }, 'a.kt\nfun a()'],
  [{ type: 'file', mediaType: 'video/mp2t', filename: 'a.ts', data: encoded('let a') }, 'a.ts\nlet a'],
  [{ type: 'file', mediaType: 'application/x-httpd-php', data: encoded('<?php') }, '<?php'],
  [{ type: 'file', mediaType: 'message/rfc822', data: encoded('From: a') }, 'From: a'],
  [{ type: 'media', mediaType: 'application/ld+json', data: encoded('{"b":2}') }, '{"b":2}'],
  [
    { type: 'resource', resource: { uri: 'f:///a.txt', mimeType: 'text/plain', blob: encoded('words') } },
    'f:///a.txt\nwords',
  ],
  [{ type: 'resource', resource: { uri: 'f:///a.txt', text: 'words' } }, 'f:///a.txt\nwords'],
  [
    { type: 'resource_link', uri: 'https://a.b/c', name: 'C', description: 'About c.' },
    'C\nhttps://a.b/c\nAbout c.',
  ],
]

const call = {
  id: 'c',
  name: 'do',
  arguments: '{}',
  origin: 'completion',
  responses_item_id: null,
  responses_reasoning_item: null,
} as const
const userMessage = { role: 'user', content: [{ text: 'Go' }], name: null } as const
const reply = {
  role: 'assistant',
  content: [],
  tool_calls: [call],
  reasoning_content: null,
  thinking_blocks: [],
  responses_reasoning_item: null,
} as const

describe.each(Object.keys(GRAMMARS) as GrammarName[])('%s', (name) => {
  const { write, validate } = GRAMMARS[name]

  it.each(FILES)('sends %j as text', (part, text) => {
    const input = write([{ role: 'user', content: [part], name: null }])
    expect(JSON.stringify(input)).toContain(JSON.stringify(text).slice(1, -1))
    expect(validate(input)).toEqual([])
    const result = { role: 'tool', content: [part], tool_call_id: 'c', name: 'do', is_error: false } as const
    const request = write([userMessage, reply, result])
    expect(JSON.stringify(request)).toContain(JSON.stringify(text).slice(1, -1))
    expect(validate(request)).toEqual([])
  })
})

describe('text in bytes', () => {
  it.each<readonly [string, number[], string | null]>([
    ['UTF-8', [0xc3, 0xa9], 'é'],
    ['UTF-8 with a byte order mark', [0xef, 0xbb, 0xbf, 0x61], 'a'],
    ['UTF-16', [0xff, 0xfe, 0x61, 0], 'a'],
    ['big-endian UTF-16', [0xfe, 0xff, 0, 0x61], 'a'],
    ['Latin-1', [0x63, 0xe9], 'cé'],
    ['binary data', [0x61, 0, 0x62], null],
  ])('is decoded, unless the bytes are binary: %s', (_, bytes, text) => {
    expect(decodeText(Uint8Array.from(bytes))).toBe(text)
  })

  it('base64 is encoded and decoded as in Node', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(base64Of(bytes)).toBe(Buffer.from(bytes).toString('base64'))
        expect(decodeBase64(base64Of(bytes))).toEqual(bytes)
      }),
    )
  })

  it('is expected for text types and an unknown type, but not for ZIP files', () => {
    const texts = [
      'text/x-python',
      'application/vnd.ms-excel',
      'application/x-httpd-php',
      'message/rfc822',
      null,
    ]
    for (const type of texts) expect(isTextFile(type)).toBe(true)
    expect(isTextFile('application/zip')).toBe(false)
    expect(isTextFile('application/jsonp-zip')).toBe(false)
  })
})
