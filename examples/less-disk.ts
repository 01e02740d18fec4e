/**
 * Stores an agent's history twice: in a table in which each update of a part repeats the whole part, and in
 * a Colloquy store. Prints the size of both. `node examples/less-disk.ts [turns] [updates of a part]`
 */

import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createEngine, type Event } from 'colloquy'
import { sqliteStore } from 'colloquy/sqlite'

const [turns, updates] = [Number(process.argv[2] ?? 6), Number(process.argv[3] ?? 200)]
if (![turns, updates].every((count) => Number.isInteger(count) && count > 0)) {
  console.error('Pass positive integers: node examples/less-disk.ts [turns] [updates of a part]')
  process.exit(2)
}
const folder = mkdtempSync(join(tmpdir(), 'less-disk-'))

// Text that compresses badly, like real output.
let seed = 1
const random = (): number => (seed = (seed * 48_271) % 2_147_483_647)
const text = (length: number): string => {
  let result = ''
  while (result.length < length) result += `${random().toString(36)} `
  return result.slice(0, length)
}

// While a text or an output arrives, each update adds a row with the whole part to the table.
const table = new DatabaseSync(join(folder, 'snapshots.db'))
table.exec('PRAGMA journal_mode = WAL; CREATE TABLE event (id INTEGER PRIMARY KEY, session TEXT, data TEXT)')
const insert = table.prepare('INSERT INTO event (session, data) VALUES (?, ?)')
let rows = 0
const write = (part: object): void => void (insert.run('s1', JSON.stringify(part)), (rows += 1))

const engine = createEngine({
  store: sqliteStore({ file: join(folder, 'colloquy.db'), synchronous: 'normal' }),
})
const conversation = await engine.create({ id: 's1' })
const screenshot = `data:image/png;base64,${text(400_000).replaceAll(' ', 'A')}`

for (let turn = 0; turn < turns; turn += 1) {
  const [question, answer] = [text(300), text(6_000)]
  write({ type: 'text', role: 'user', text: question })
  await conversation.sendMessage(question)
  for (let call = 0; call < 6; call += 1) {
    const [id, input, output] = [`call_${turn}_${call}`, text(200), text(50_000)]
    for (let update = 1; update <= updates; update += 1)
      write({
        type: 'tool',
        callID: id,
        state: { input, output: output.slice(0, (50_000 / updates) * update) },
      })
    const tool = { tool_name: 'bash', tool_call_id: id }
    const tool_call = {
      id,
      name: 'bash',
      arguments: JSON.stringify({ input }),
      origin: 'completion',
    } as const
    const content = [{ text: output }]
    const events: Event[] = [
      {
        kind: 'ActionEvent',
        id,
        thought: [],
        action: { kind: 'Bash' },
        ...tool,
        tool_call,
        llm_response_id: `r${id}`,
      },
      { kind: 'ObservationEvent', action_id: id, ...tool, observation: { kind: 'Bash', content } },
    ]
    await conversation.append(events)
  }
  write({ type: 'file', mime: 'image/png', url: screenshot }) // the same screenshot in each turn
  for (let update = 1; update <= updates; update += 1)
    write({ type: 'text', text: answer.slice(0, (6_000 / updates) * update) })
  const image = { type: 'image', image_urls: [screenshot] } as const
  const llm_message = { role: 'assistant', content: [{ text: answer }, image] } as const
  await conversation.append({ kind: 'MessageEvent', source: 'agent', llm_message })
}
await engine.close()
await engine.store.close()
table.exec('PRAGMA wal_checkpoint(TRUNCATE)')
table.close()

const bytesOf = (name: string): number => statSync(join(folder, name)).size
const [before, after] = [bytesOf('snapshots.db'), bytesOf('colloquy.db')]
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
console.log(`table:     ${megabytes(before)} in ${rows} rows, ${(before / rows / 1e3).toFixed(1)} kB each`)
console.log(`colloquy:  ${megabytes(after)}, ${((after / before) * 100).toFixed(1)} % of the table`)
console.log(`A table of 64 GB becomes ${((after / before) * 64).toFixed(1)} GB`)
rmSync(folder, { recursive: true })
