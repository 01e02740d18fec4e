/**
 * Upgrades an agent while it works. Version 1 starts a tool and is killed. Version 2 does not have this
 * tool. It opens the same database, reads the log of an older program, too, and continues both
 * conversations. `node examples/upgrade.ts`
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createEngine, listWarnings, loadLine, type Step } from 'colloquy'
import { sqliteStore } from 'colloquy/sqlite'

const [, file = '', version = 'v2', database] = process.argv
const folder = database === undefined ? mkdtempSync(join(tmpdir(), 'upgrade-')) : null
const store = sqliteStore({ file: database ?? join(folder ?? '', 'agent.db') })
const engine = createEngine({ store })

// Version 1's only tool, `deploy`, never ends.
const deploy: Step = async function* ({ approved }) {
  if (approved.length > 0) {
    console.log('working')
    await new Promise((resolve) => setTimeout(resolve, 60_000))
  }
  const call = { tool_name: 'deploy', tool_call_id: 'call_1', llm_response_id: 'reply_1' }
  const tool_call = { id: 'call_1', name: 'deploy', arguments: '{}', origin: 'completion' } as const
  yield { kind: 'ActionEvent', thought: [], action: { kind: 'DeployAction' }, ...call, tool_call }
}

if (version === 'v1') {
  const conversation = await engine.create({ id: 'c1' })
  await conversation.sendMessage('Deploy it.')
  await conversation.run(deploy, { leaseTtl: 1_000 })
}

// Version 1 runs in its own process, and dies while its tool runs.
const path = join(folder ?? '', 'agent.db')
const child = spawn(process.execPath, [file, 'v1', path], { stdio: ['ignore', 'pipe', 'inherit'] })
await once(child.stdout, 'data')
child.kill('SIGKILL')
await once(child, 'exit')

// Version 2 has no tool `deploy`. The run resumes when the dead process's lease has expired.
const step: Step = async function* ({ messages }) {
  const last = messages.at(-1)
  const content = [{ text: `Version 2 read: ${JSON.stringify(last?.content)}` }]
  yield { kind: 'MessageEvent', source: 'agent', llm_message: { role: 'assistant', content } }
}
const conversation = await engine.open('c1')
const { status } = await conversation.run(step, { wait: true })
const started = (await conversation.search({ kinds: ['ActionEvent'] })).items.length
console.log(`the interrupted run: ${status}, ${started} call, started once`)
console.log(JSON.stringify((await conversation.messages()).at(-1)?.content))

// A log of an older program: a condensation in an early format, and an event of an unknown kind.
const lines = [
  '{"kind":"MessageEvent","id":"a","source":"user","llm_message":{"role":"user","content":[{"text":"Hello"}]}}',
  '{"kind":"Condensation","id":"b","forgotten_event_ids":["a"],"summary":"A greeting.","summary_offset":0}',
  '{"kind":"FutureEvent","id":"c","value":1}',
]
const loaded = lines.map((line) => loadLine(line))
await store.createConversation({ id: 'old' })
await store.append(
  'old',
  loaded.map(({ fact }) => fact),
  { mode: 'import', expected: 'none' },
)
const old = await engine.open('old')
console.log(`the old log: converted by ${loaded.flatMap(({ upcasts }) => upcasts).join(', ')}`)
console.log(
  `warnings: ${listWarnings(await old.state())
    .map(({ code }) => code)
    .join(', ')}`,
)
await old.sendMessage('Are you still here?')
console.log(`the old log, continued: ${(await old.run(step)).status}`)

await engine.close()
await store.close()
if (folder !== null) rmSync(folder, { recursive: true })
