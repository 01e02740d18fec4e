/** Messages read with blob references produce the same requests once the references are resolved. */

import { describe, expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import { GRAMMARS } from '../../src/messages/grammars.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { resolveBlobs } from '../../src/messages/resolve-blobs.ts'
import { replay } from '../../src/state/reduce.ts'
import { blobReader } from '../../src/store/kit/blobs.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { action, agent, fail, image, observe, system, text, user } from '../build.ts'

const long = (start: string): string => start.padEnd(70_000, 'x')
const PICTURE = `data:image/png;base64,${'QUJD'.repeat(20_000)}`

const call = action('a', {
  thought: long('I think'),
  args: JSON.stringify({ code: long('let a') }),
  thinking: true,
})
const other = action('b')

const LOG: readonly Event[] = [
  system('s', long('Be brief.')),
  user('u', [text(long('Look: $& $1')), image(PICTURE, 'https://a.b/c.png')]),
  call,
  observe('o', call, [text(long('Result')), image(PICTURE)]),
  other,
  fail('f', other, long('It failed')),
  agent('m', long('Done')),
  user('v', `a text with colloquy:blob/${'0'.repeat(64)} in it`),
]

describe('messages read with blob references', () => {
  const store = memoryStore()
  const read = async (blobs: 'whole' | 'refs') => {
    const events = await store.read('c', { blobs })
    return toMessages(replay(events.map(({ fact }) => fact)))
  }

  it.each(GRAMMARS.map((grammar) => [grammar.name, grammar] as const))(
    'produce the same request in %s once they are resolved',
    async (name, { write }) => {
      if ((await store.getConversation('c')) === null) {
        await store.createConversation({ id: 'c' })
        await store.append('c', LOG)
      }
      const [whole, refs] = [await read('whole'), await read('refs')]
      expect(JSON.stringify(refs).length).toBeLessThan(5_000)
      const before = JSON.stringify(refs)
      const resolved = await resolveBlobs(refs, blobReader(store, 'c'))
      expect(JSON.stringify(write(resolved)), name).toBe(JSON.stringify(write(whole)))
      expect(JSON.stringify(refs)).toBe(before)
    },
  )

  it('stay unchanged without references, or with the blobs of another conversation', async () => {
    const refs = await read('refs')
    await store.createConversation({ id: 'other' })
    expect(await resolveBlobs(refs, blobReader(store, 'other'))).toEqual(refs)
    const plain = toMessages(replay([user('u', 'hi')]))
    expect(await resolveBlobs(plain, () => Promise.reject(new Error('nothing to read')))).toBe(plain)
  })
})
