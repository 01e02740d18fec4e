/** A process that acts on a conversation: `kind place name seed count`. Prints a line per action. */

import { writeSync } from 'node:fs'
import { createEngine } from '../../src/conversation/engine.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { DEED_NAMES, doSomething, random } from './deeds.ts'

const [kind = '', position = '', name = '', seed = '0', count = '0'] = process.argv.slice(2)
const [url = '', schema = ''] = position.split(' ')
const store =
  kind === 'sqlite'
    ? sqliteStore({ file: position, synchronous: 'normal', busyTimeout: 20_000 })
    : postgresStore({ url, schema, pollInterval: 1_000 })
const engine = createEngine({ store })
const conversation = await engine.open('c')
const pick = random(Number(seed))
for (let i = 0; i < Number(count); i += 1) {
  const deed = DEED_NAMES[pick(DEED_NAMES.length)] as string
  const outcome = await doSomething(conversation, deed, pick, `${name}-${i}`)
  const messages = typeof outcome === 'string' ? outcome : outcome.map(({ seq, id }) => [seq, id])
  writeSync(1, `${JSON.stringify([deed, messages])}\n`)
}
await engine.close()
await store.close()
