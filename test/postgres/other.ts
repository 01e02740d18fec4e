/** A process beside the test's own, with stores of its own: commands come in by lines, a line goes out for each that was carried out. */

import { createInterface } from 'node:readline'
import { hasCode } from '../../src/event/errors.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'

const [url = '', schema = ''] = process.argv.slice(2)

/** Nothing but a notification wakes: polling would take longer than any test. */
const NEVER = 2 ** 30
const say = (line: string): boolean => process.stdout.write(`${line}\n`)
const store = postgresStore({ url, schema, pollInterval: NEVER })

const COMMANDS: Readonly<Record<string, (word: string) => Promise<unknown>>> = {
  /** Opens so many stores at the same moment, each with a first call. */
  open: async (count) => {
    const stores = Array.from({ length: Number(count) }, () => postgresStore({ url, schema }))
    await Promise.all(stores.map((one, i) => one.createConversation({ id: `${process.pid} ${i}` })))
    await Promise.all(stores.map((one) => one.close()))
  },
  append: (id) => store.append('c', [{ kind: 'PauseEvent', id }]),
  /** From now on answers each event `ping…` by one, when it is woken. */
  echo: async () => {
    store.watch('c', () => {
      void answer().catch((error: unknown) => {
        if (!hasCode(error, 'store_unavailable')) throw error
      })
    })
  },
}

async function answer(): Promise<void> {
  const [last] = await store.read('c', { direction: 'backward', limit: 1 })
  const id = last?.id ?? ''
  if (id.startsWith('ping')) await store.append('c', [{ kind: 'PauseEvent', id: `answer to ${id}` }])
}

say('here')
for await (const line of createInterface({ input: process.stdin })) {
  const [command = '', word = ''] = line.split(' ')
  await COMMANDS[command]?.(word)
  say(line)
}
await store.close()
