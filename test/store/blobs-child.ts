/** Writes or reads a string of several megabytes, and prints the peak memory of this process after each task. */

import type { Event } from '../../src/event/types.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

const [location = '', megabytes = '0', ...tasks] = process.argv.slice(2)
const length = Number(megabytes) * 2 ** 20

const store = location.startsWith('postgres')
  ? postgresStore({ url: location, timeout: 60_000 })
  : sqliteStore({ file: location })
for (const task of tasks) {
  if (task === 'write') {
    const image_urls = Object.freeze([`data:${'A'.repeat(length)}`])
    const content = Object.freeze([Object.freeze({ image_urls })])
    const llm_message = Object.freeze({ role: 'user' as const, content })
    await store.createConversation({ id: 'c' })
    await store.append('c', [
      Object.freeze<Event>({ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }),
    ])
  } else if (task === 'stream') {
    const event = await store.get('c', 'm', { blobs: 'refs' })
    const blob = await store.readBlob('c', event?.blobs?.[0]?.hash ?? '')
    let bytes = 0
    for await (const piece of blob?.content ?? []) bytes += piece.length
    if (bytes !== length + 5) throw new Error(`${bytes} bytes were read`)
  } else if (task === 'whole') {
    const event = await store.get('c', 'm')
    if (event === null) throw new Error('the event is missing')
  }
  console.log(process.resourceUsage().maxRSS / 1024)
}
await store.close()
