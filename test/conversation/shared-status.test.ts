/** The listed status follows the log, whichever process appended last. */

import { afterAll, expect, it } from 'vitest'
import { user } from '../build.ts'
import { openEngines } from './engines.ts'
import { backends } from './backends.ts'
import { says } from './script.ts'

const BACKENDS = backends()
afterAll(() => BACKENDS.remove())

it.each(BACKENDS.names)('the listed status follows the last append of any engine over %s', async (name) => {
  const [one, other] = await openEngines(await BACKENDS.make(name))
  const listed = async () => (await one.store.getConversation('c'))?.status
  await one.conversation.append(user('a'))
  await other.conversation.run(() => [says('Hi')])
  expect(await listed()).toBe('finished')
  // The first engine listed `idle` at its last write, and has not read the run since.
  await one.conversation.append(user('b'))
  expect(await listed()).toBe('idle')
  const fork = await one.conversation.fork({ id: 'f' })
  expect((await one.store.getConversation(fork.id))?.status).toBe('idle')
  await one.close()
  await other.close()
})
