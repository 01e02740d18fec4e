/** The listed status follows the log, whichever process appended last. */

import { afterAll, expect, it } from 'vitest'
import { user } from '../build.ts'
import { parties } from './engines.ts'
import { places } from './places.ts'
import { says } from './script.ts'

const PLACES = places()
afterAll(() => PLACES.remove())

it.each(PLACES.names)('the listed status follows the last append of any engine over %s', async (name) => {
  const [one, other] = await parties(await PLACES.make(name))
  const listed = async () => (await one.store.getConversation('c'))?.status
  await one.conversation.append(user('a'))
  await other.conversation.run(() => [says('Hi')])
  expect(await listed()).toBe('finished')
  // Its last write also listed `idle`, and it has not read the run since.
  await one.conversation.append(user('b'))
  expect(await listed()).toBe('idle')
  const fork = await one.conversation.fork({ id: 'f' })
  expect((await one.store.getConversation(fork.id))?.status).toBe('idle')
  await one.end()
  await other.end()
})
