/** Tests what checkLog tells about a broken law. */

import { expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { findings } from '../../src/explain/findings.ts'
import { checkLog } from '../../src/laws/check-log.ts'
import { action, user } from '../build.ts'

it('rejects one text in place of a list of lines', () => {
  const text = '{"kind":"PauseEvent","id":"p"}\n'
  for (const check of [checkLog, findings])
    expect(() => check(text)).toThrow('`log` must be a list of lines, not one text.')
})

it('names the event between two calls of a reply, even if the view has other calls of it', () => {
  const [a, b] = ['a', 'b'].map((id) => action(id, { response: 'r' }))
  const [violation, ...others] = checkLog([a, user('u'), b] as Event[])
  expect(others).toEqual([])
  expect(violation).toMatchObject({ law: 'M7', id: 'b' })
  expect(violation?.message).toContain('but this call follows MessageEvent')
})
