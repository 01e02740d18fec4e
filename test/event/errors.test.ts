/**
 * Errors of the library are recognized by their fields: two copies of the package in one process have two
 * classes.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import type * as Errors from '../../src/event/errors.ts'
import { ColloquyError, hasCode, isColloquyError } from '../../src/event/errors.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { clientOver } from '../service/client.ts'

const COPY = '../../src/event/errors.ts?copy'
const copy = (await import(COPY)) as typeof Errors

describe('an error of another copy of the package', () => {
  const error = new copy.ColloquyError('invalid_cursor', 'The cursor is of another query.')

  it('has another class, and is recognized', () => {
    expect(error instanceof ColloquyError).toBe(false)
    expect([isColloquyError(error), hasCode(error, 'invalid_cursor'), hasCode(error, 'closed')]).toEqual([
      true,
      true,
      false,
    ])
    expect(copy.isColloquyError(new ColloquyError('closed', 'Closed.'))).toBe(true)
  })

  it('causes the same HTTP response as an error of this copy', async () => {
    const store = memoryStore()
    await store.createConversation({ id: 'c', public: true })
    const { service, engine } = await clientOver(
      Object.assign(Object.create(store), { search: () => Promise.reject(error) }),
    )
    const response = await service.fetch(
      new Request('http://localhost/api/shared-events/search?conversation_id=c&page_id=1'),
    )
    expect([response.status, await response.json()]).toMatchObject([
      422,
      { detail: [{ loc: ['query', 'page_id'], msg: 'Value error, The cursor is of another query.' }] },
    ])
    await engine.close()
  })
})

it.each([[null], [undefined], ['ColloquyError'], [{ name: 'ColloquyError' }], [new Error('ColloquyError')]])(
  '%s is not an error of the library',
  (value) => expect([isColloquyError(value), hasCode(value, 'closed')]).toEqual([false, false]),
)

it('no file of src recognizes errors of the library by their class', () => {
  const src = resolve(import.meta.dirname, '../../src')
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
  expect(
    files.filter((name) => /instanceof ColloquyError/.test(readFileSync(join(src, name), 'utf8'))),
  ).toEqual([])
})
