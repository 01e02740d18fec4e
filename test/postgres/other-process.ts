/** A second process with its own stores. Reads commands as lines and prints one line per completed command. */

import { createInterface } from 'node:readline'
import { hasCode } from '../../src/event/errors.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'

const [url = '', schema = ''] = process.argv.slice(2)

/** Poll interval, longer than any test, so that only notifications wake. */
const NEVER = 2 ** 30
const printLine = (line: string): boolean => process.stdout.write(`${line}\n`)
const store = postgresStore({ url, schema, pollInterval: NEVER })

const COMMANDS: Readonly<Record<string, (argument: string) => Promise<unknown>>> = {
  /** Opens stores at the same time, each with a first call. */
  open: async (count) => {
    const stores = Array.from({ length: Number(count) }, () => postgresStore({ url, schema }))
    await Promise.all(stores.map((one, i) => one.createConversation({ id: `${process.pid} ${i}` })))
    await Promise.all(stores.map((one) => one.close()))
  },
  append: (id) => store.append('c', [{ kind: 'PauseEvent', id }]),
  /** Replies to each `ping…` event when a watch wakes. */
  echo: async () => {
    store.watch('c', () => {
      void reply().catch((error: unknown) => {
        if (!hasCode(error, 'store_unavailable')) throw error
      })
    })
  },
}

async function reply(): Promise<void> {
  const [last] = await store.read('c', { direction: 'backward', limit: 1 })
  const id = last?.id ?? ''
  if (id.startsWith('ping')) await store.append('c', [{ kind: 'PauseEvent', id: `reply to ${id}` }])
}

printLine('ready')
for await (const line of createInterface({ input: process.stdin })) {
  const [command = '', argument = ''] = line.split(' ')
  await COMMANDS[command]?.(argument)
  printLine(line)
}
await store.close()
