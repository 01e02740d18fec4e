/** A subscription receives the events of other processes, even if they are killed (law B). */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, expect, inject, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { folder, openStore } from '../store/sqlite-drivers.ts'

const FILES = folder()
afterAll(() => FILES.remove())

it('a subscription receives the events of another process that is killed and restarted', async () => {
  const file = FILES.next()
  const store = openStore('node:sqlite', file, { synchronous: 'normal', pollInterval: 5 })
  await store.createConversation({ id: 'c' })
  const engine = createEngine({ store })
  const conversation = await engine.open('c')
  const stop = new AbortController()
  const seen: number[] = []
  const reading = (async () => {
    for await (const item of conversation.subscribe({ signal: stop.signal }))
      if (item.type === 'event') seen.push(item.seq)
  })()
  for (let life = 0; life < 4; life += 1) {
    const before = seen.length
    const child = spawn(
      process.execPath,
      [join(inject('built'), 'test/sqlite-child.js'), 'node:sqlite', file, 'forever', `life${life}`],
      { stdio: 'ignore' },
    )
    const until = Date.now() + 300_000
    while (seen.length < before + 50 && Date.now() < until) await sleep(5)
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  const { length } = (await conversation.state()).log.entries
  const until = Date.now() + 300_000
  while (seen.length < length && Date.now() < until) await sleep(5)
  stop.abort()
  await reading
  expect(length).toBeGreaterThan(200)
  expect(seen).toEqual(Array.from({ length }, (_, seq) => seq))
  await engine.close()
  await store.close()
})

it('a waiting subscription keeps its process alive', async () => {
  const built = inject('built')
  const code = `
    import { createEngine } from ${JSON.stringify(join(built, 'index.js'))}
    import { sqliteStore } from ${JSON.stringify(join(built, 'store/sqlite/index.js'))}
    const store = sqliteStore({ file: ${JSON.stringify(FILES.next())}, pollInterval: 5 })
    const conversation = await createEngine({ store }).create()
    const signal = AbortSignal.timeout(200)
    for await (const item of conversation.subscribe({ signal })) console.log(item.type)
    console.log('ended')`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code])
  expect(stdout).toBe('caught_up\nended\n')
})
