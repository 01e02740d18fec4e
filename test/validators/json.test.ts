/** The checks that all validators share: invalid JSON and Unicode, blank text, images. */

import { expect, test } from 'vitest'
import { illFormedText, notJson } from '../../src/messages/request-form.ts'
import { endsInSpace, imageUrlFault, isBase64, isBlank, parseObject } from '../../src/messages/rules.ts'
import { byType, string } from '../../src/messages/shape.ts'

const cycle: unknown[] = [1]
cycle.push({ again: cycle })

test.each([
  { value: undefined, path: 'root' },
  { value: { a: undefined }, path: 'root.a' },
  { value: [() => 1], path: 'root[0]' },
  { value: { a: [1n] }, path: 'root.a[0]' },
  { value: Symbol('s'), path: 'root' },
  { value: Number.POSITIVE_INFINITY, path: 'root' },
  { value: new Map(), path: 'root' },
  { value: { a: [{ b: new Date(0) }] }, path: 'root.a[0].b' },
  { value: cycle, path: 'root[1].again' },
])('`notJson` reports $path of $value', ({ value, path: expected }) => {
  expect(notJson(value, 'root').map(({ path }) => path)).toEqual([expected])
})

test('`notJson` accepts parsed JSON, and an object that appears twice', () => {
  const shared = { text: 'a' }
  expect(notJson(JSON.parse('{"__proto__":{"a":[1,null,true,"x"]}}'), '')).toEqual([])
  expect(notJson([shared, shared], '')).toEqual([])
  expect(notJson(Object.create(null), '')).toEqual([])
})

test('`illFormedText` reports lone surrogates in values and names', () => {
  const paths = illFormedText({ a: ['ok 👍', 'no \ud83d'], '\udc4d': 1 }, '').map(({ path }) => path)
  expect(paths).toEqual(['a[1]', '\udc4d'])
  expect(illFormedText(cycle, '')).toEqual([])
})

test('blank text has only white space of JavaScript or Python', () => {
  for (const blank of ['', ' \t\r\n', '\u00a0\ufeff\u2028', '\u0085\u001c\u001d\u001e\u001f']) {
    expect(isBlank(blank)).toBe(true)
  }
  for (const text of ['.', '\u200b', ' a ', '\u0000']) expect(isBlank(text)).toBe(false)
  expect(endsInSpace('a\u0085')).toBe(true)
  expect(endsInSpace(' a')).toBe(false)
})

test('`parseObject` accepts only the JSON text of an object', () => {
  expect(parseObject('{"a":1}')).toEqual({ a: 1 })
  for (const text of ['', 'null', '[]', '"{}"', '7', '{', '{} {}']) expect(parseObject(text)).toBeUndefined()
})

const fault = (url: string) => imageUrlFault(url, ['https:', 'data:'])

test('an image URL is an https URL or a base64 data URL', () => {
  expect(fault('https://example.com/a.png?b=1')).toBeUndefined()
  expect(fault('data:image/webp;base64,aW1n')).toBeUndefined()
  for (const url of [
    '',
    'a.png',
    '//example.com/a.png',
    ' https://example.com/a.png',
    'http://example.com/a.png',
    'data:image/png,aW1n',
    'data:;base64,aW1n',
    'data:image/png;charset=utf-8;base64,aW1n',
    'data:image/png;base64,aW1',
    'data:image/png;base64,aW-_',
  ]) {
    expect(fault(url), url).toBeDefined()
  }
  expect(isBase64('aQ==')).toBe(true)
  for (const data of ['', '====', 'a', 'aW1n\n', 'aQ=a']) expect(isBase64(data), data).toBe(false)
})

test('`byType` rejects kinds that are names of properties of `Object.prototype`', () => {
  for (const type of ['__proto__', 'constructor', 'toString', 7])
    expect(byType({ text: { text: string } })({ type, text: 'x' })).toBe(false)
  expect(byType({ text: { text: string } })({ type: 'text', text: 'x' })).toBe(true)
})
