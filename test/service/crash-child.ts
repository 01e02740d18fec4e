/** A service process to be killed. Arguments: a file and a reply mode. It prints its address. */

import { serve } from '../../src/service/node/server.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

const [, , file = '', way] = process.argv

/** A model call that never returns. */
const hanging: Step = async function* () {
  process.stdout.write('asked\n')
  await new Promise(() => undefined)
  yield []
}

const replying: Step = async function* ({ messages }) {
  yield {
    kind: 'MessageEvent',
    source: 'agent',
    llm_message: { role: 'assistant', content: [{ text: `Heard: ${JSON.stringify(messages)}` }] },
  }
}

const { url } = await serve({
  store: sqliteStore({ file }),
  port: 0,
  agent: () => (way === 'hang' ? hanging : replying),
  run: { leaseTtl: 1_000 },
})
process.stdout.write(`${url}\n`)
