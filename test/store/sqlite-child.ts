/** What the tests of several processes run in a process of its own: a store that appends, and says on its standard output what it did. */

import { writeSync } from 'node:fs'
import { hasCode } from '../../src/event/errors.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type Driver, openStore } from './sqlite-drivers.ts'

const [driver, file, work, name = '', count = '0'] = process.argv.slice(2)

/** Written at once: what was said before a kill has been said. */
const say = (line: string): void => void writeSync(1, `${line}\n`)

async function begin(store: Store): Promise<void> {
  try {
    await store.createConversation({ id: 'c' })
  } catch (error) {
    if (!hasCode(error, 'conversation_exists')) throw error
  }
}

/** Appends so many events one by one. */
async function appendSome(store: Store): Promise<void> {
  await begin(store)
  for (let i = 0; i < Number(count); i += 1)
    await store.append('c', [{ kind: 'PauseEvent', id: `${name}-${i}` }])
  say('done')
}

/**
 * Appends without end: single events, batches, and batches that move HEAD, up to four at once beside one that is refused; and saves a
 * snapshot after each turn. The id of an event says in which append it came and how many came in it; appends and snapshots are said when
 * they were acknowledged, never before.
 */
async function appendForever(store: Store): Promise<void> {
  await begin(store)
  say('open')
  const { version: start } = (await store.getConversation('c')) ?? { version: 0 }
  let turn = 0
  const appendNext = async (): Promise<number> => {
    turn += 1
    const size = turn % 3 === 0 ? 1 : 2 + ((turn * 7) % 19)
    const ids = Array.from({ length: size }, (_, i) => `${name}.${turn}.${size}.${i}`)
    const facts = ids.map((id, i): Fact => {
      if (i === 3)
        return { kind: 'ConversationStateUpdateEvent', id, key: 'leaf_event_id', value: ids[0] as string }
      // Now and then an image, which many events have.
      const image = i === 0 && turn % 3 === 1 ? [{ image_urls: [`${turn % 5}`.repeat(300_000)] }] : []
      const content = [{ text: id.repeat(1 + ((turn * 31) % 200)) }, ...image]
      return { kind: 'MessageEvent', id, source: 'user', llm_message: { role: 'user', content } }
    })
    const { version, headId } = await store.append('c', facts)
    say(`${version} ${headId} ${ids.at(-1)}`)
    return version
  }
  for (let round = 0; ; round += 1) {
    const appends = Array.from({ length: 1 + (round % 4) }, appendNext)
    const refused = store.append('c', [{ kind: 'PauseEvent', id: 'refused', parent_id: 'nowhere' }])
    const refusal: unknown = await refused.catch((error: unknown) => error)
    if (!hasCode(refusal, 'unknown_parent')) throw new Error(`should be refused: ${String(refusal)}`)
    const version = Math.max(...(await Promise.all(appends)))
    // Another number of parts each time, some pages each; every one tells the version and how many there are.
    const count = 1 + (round % 4)
    const bytes = new TextEncoder().encode(`${version} ${count} `.repeat(2_000))
    const parts = Array.from({ length: count }, (_, part) => ({ part, bytes }))
    await store.saveSnapshot('c', parts, { complete: true })
    say(`snapshot ${version}`)
    if (version < start) throw new Error('the log has become shorter')
  }
}

const store = openStore(driver as Driver, file as string, { synchronous: 'normal', busyTimeout: 20_000 })
await (work === 'forever' ? appendForever(store) : appendSome(store))
await store.close()
