/** A process that acts on a conversation: `kind location name seed count`. Prints a line per operation. */

import { writeSync } from 'node:fs'
import { createEngine } from '../../src/conversation/engine.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { OPERATION_NAMES, performOperation, random } from './operations.ts'

const [kind = '', location = '', name = '', seed = '0', count = '0'] = process.argv.slice(2)
const [url = '', schema = ''] = location.split(' ')
const store =
  kind === 'sqlite'
    ? sqliteStore({ file: location, synchronous: 'normal', busyTimeout: 20_000 })
    : postgresStore({ url, schema, pollInterval: 1_000 })
const engine = createEngine({ store })
const conversation = await engine.open('c')
const pick = random(Number(seed))
for (let i = 0; i < Number(count); i += 1) {
  const operation = OPERATION_NAMES[pick(OPERATION_NAMES.length)] as string
  const outcome = await performOperation(conversation, operation, pick, `${name}-${i}`)
  const output = typeof outcome === 'string' ? outcome : outcome.map(({ seq, id }) => [seq, id])
  writeSync(1, `${JSON.stringify([operation, output])}\n`)
}
await engine.close()
await store.close()
