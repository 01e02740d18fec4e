/** A conversation is listed by what its log says, whichever process has appended last. */

import { afterAll, expect, it } from 'vitest'
import { user } from '../build.ts'
import { parties } from './engines.ts'
import { places } from './places.ts'
import { says } from './script.ts'

const PLACES = places()
afterAll(() => PLACES.remove())

it.each(PLACES.names)('over %s', async (name) => {
  const [one, other] = await parties(await PLACES.make(name))
  const listed = async () => (await one.store.getConversation('c'))?.status
  await one.conversation.append(user('a'))
  await other.conversation.run(() => [says('Hi')])
  expect(await listed()).toBe('finished')
  // It had it listed so before, and has not heard of the run.
  await one.conversation.append(user('b'))
  expect(await listed()).toBe('idle')
  const fork = await one.conversation.fork({ id: 'f' })
  expect((await one.store.getConversation(fork.id))?.status).toBe('idle')
  await one.end()
  await other.end()
})
