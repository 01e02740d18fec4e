/** The checks that all validators share: invalid JSON and Unicode, blank text, images. */

import { expect, test } from 'vitest'
import { illFormedText, notJson } from '../../src/messages/request-form.ts'
import { endsInSpace, imageUrlFault, isBase64, isBlank, parseObject } from '../../src/messages/rules.ts'
import { byType, string } from '../../src/messages/shape.ts'

const cycle: unknown[] = [1]
cycle.push({ again: cycle })

test.each([
  { value: undefined, at: 'root' },
  { value: { a: undefined }, at: 'root.a' },
  { value: [() => 1], at: 'root[0]' },
  { value: { a: [1n] }, at: 'root.a[0]' },
  { value: Symbol('s'), at: 'root' },
  { value: Number.POSITIVE_INFINITY, at: 'root' },
  { value: new Map(), at: 'root' },
  { value: { a: [{ b: new Date(0) }] }, at: 'root.a[0].b' },
  { value: cycle, at: 'root[1].again' },
])('$at of $value is no JSON', ({ value, at: index }) => {
  expect(notJson(value, 'root').map(({ path }) => path)).toEqual([index])
})

test('what JSON.parse makes is JSON, the same object in two places too', () => {
  const shared = { text: 'a' }
  expect(notJson(JSON.parse('{"__proto__":{"a":[1,null,true,"x"]}}'), '')).toEqual([])
  expect(notJson([shared, shared], '')).toEqual([])
  expect(notJson(Object.create(null), '')).toEqual([])
})

test('lone surrogates are found in values and names, pairs are not', () => {
  const paths = illFormedText({ a: ['ok 👍', 'no \ud83d'], '\udc4d': 1 }, '').map(({ path }) => path)
  expect(paths).toEqual(['a[1]', '\udc4d'])
  expect(illFormedText(cycle, '')).toEqual([])
})

test('blank is blank to JavaScript or to Python', () => {
  for (const blank of ['', ' \t\r\n', '\u00a0\ufeff\u2028', '\u0085\u001c\u001d\u001e\u001f']) {
    expect(isBlank(blank)).toBe(true)
  }
  for (const text of ['.', '\u200b', ' a ', '\u0000']) expect(isBlank(text)).toBe(false)
  expect(endsInSpace('a\u0085')).toBe(true)
  expect(endsInSpace(' a')).toBe(false)
})

test('only the JSON text of an object parses to one', () => {
  expect(parseObject('{"a":1}')).toEqual({ a: 1 })
  for (const text of ['', 'null', '[]', '"{}"', '7', '{', '{} {}']) expect(parseObject(text)).toBeUndefined()
})

const fault = (url: string) => imageUrlFault(url, ['https:', 'data:'])

test('image URLs', () => {
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

test('a kind with the name of a property of all objects is none', () => {
  for (const type of ['__proto__', 'constructor', 'toString', 7])
    expect(byType({ text: { text: string } })({ type, text: 'x' })).toBe(false)
  expect(byType({ text: { text: string } })({ type: 'text', text: 'x' })).toBe(true)
})
