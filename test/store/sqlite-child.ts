/** The child process of multi-process tests: appends to a store and reports on standard output. */

import { writeSync } from 'node:fs'
import { hasCode } from '../../src/event/errors.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { type Driver, openStore } from './sqlite-drivers.ts'

const [driver, file, work, name = '', count = '0'] = process.argv.slice(2)

/** Synchronous, so that nothing reported is lost in a kill. */
const report = (line: string): void => void writeSync(1, `${line}\n`)

async function begin(store: Store): Promise<void> {
  try {
    await store.createConversation({ id: 'c' })
  } catch (error) {
    if (!hasCode(error, 'conversation_exists')) throw error
  }
}

async function appendSome(store: Store): Promise<void> {
  await begin(store)
  for (let i = 0; i < Number(count); i += 1)
    await store.append('c', [{ kind: 'PauseEvent', id: `${name}-${i}` }])
  report('done')
}

/**
 * Appends forever: single events, batches and moves of HEAD, up to four at once, and a rejected append. Saves a
 * snapshot after each round. Event ids contain their append and its size. Reports appends and snapshots after
 * their acknowledgement.
 */
async function appendForever(store: Store): Promise<void> {
  await begin(store)
  report('open')
  const { version: start } = (await store.getConversation('c')) ?? { version: 0 }
  let turn = 0
  const appendNext = async (): Promise<number> => {
    turn += 1
    const size = turn % 3 === 0 ? 1 : 2 + ((turn * 7) % 19)
    const ids = Array.from({ length: size }, (_, i) => `${name}.${turn}.${size}.${i}`)
    const facts = ids.map((id, i): Fact => {
      if (i === 3)
        return { kind: 'ConversationStateUpdateEvent', id, key: 'leaf_event_id', value: ids[0] as string }
      // Sometimes an image that many events share.
      const image = i === 0 && turn % 3 === 1 ? [{ image_urls: [`${turn % 5}`.repeat(300_000)] }] : []
      const content = [{ text: id.repeat(1 + ((turn * 31) % 200)) }, ...image]
      return { kind: 'MessageEvent', id, source: 'user', llm_message: { role: 'user', content } }
    })
    const { version, headId } = await store.append('c', facts)
    report(`${version} ${headId} ${ids.at(-1)}`)
    return version
  }
  for (let round = 0; ; round += 1) {
    const appends = Array.from({ length: 1 + (round % 4) }, appendNext)
    const rejected = store.append('c', [{ kind: 'PauseEvent', id: 'rejected', parent_id: 'nowhere' }])
    const error: unknown = await rejected.catch((reason: unknown) => reason)
    if (!hasCode(error, 'unknown_parent')) throw new Error(`the append should be rejected: ${String(error)}`)
    const version = Math.max(...(await Promise.all(appends)))
    // A varying number of parts of several pages; each contains the version and the part count.
    const count = 1 + (round % 4)
    const bytes = new TextEncoder().encode(`${version} ${count} `.repeat(2_000))
    const parts = Array.from({ length: count }, (_, part) => ({ part, bytes }))
    await store.saveSnapshot('c', parts, { complete: true })
    report(`snapshot ${version}`)
    if (version < start) throw new Error('the log has become shorter')
  }
}

const store = openStore(driver as Driver, file as string, { synchronous: 'normal', busyTimeout: 20_000 })
await (work === 'forever' ? appendForever(store) : appendSome(store))
await store.close()
