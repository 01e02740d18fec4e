/**
 * An AG-UI server for CopilotKit and other AG-UI clients. A client that was disconnected can send
 * its input again and misses no event, because the conversation is in a database.
 *
 *   npm install ./colloquy-0.1.0.tgz @ag-ui/core hono @hono/node-server
 *   FILE=pages.db node ag-ui.ts
 */

import { serve } from '@hono/node-server'
import { createEngine, isColloquyError, type Step } from 'colloquy'
import { agUiResponse, receiveRunInput } from 'colloquy/ag-ui'
import { sqliteStore } from 'colloquy/sqlite'
import { Hono } from 'hono'

const engine = createEngine({ store: sqliteStore({ file: process.env['FILE'] ?? 'pages.db' }) })
// Pauses runs and releases their leases, so that the next process can continue at once.
process.once('SIGTERM', () => void engine.close().finally(() => process.exit()))

/**
 * Use `anthropicStep`, `openAIStep` or another step here. This step always sends the same text, in
 * two pieces.
 */
const step: Step = async function* () {
  for (const content of ['Hello ', 'there.']) yield { kind: 'StreamingDeltaEvent', content }
  yield {
    kind: 'MessageEvent',
    source: 'agent',
    llm_message: { role: 'assistant', content: [{ text: 'Hello there.' }] },
  }
}

const app = new Hono()
app.post('/', async (c) => {
  const body = (await c.req.json()) as { threadId: string }
  const conversation = await engine.openOrCreate(body.threadId)
  const input = await receiveRunInput(conversation, body)
  return agUiResponse(conversation, { input, run: () => conversation.run(step, { wait: true }) })
})
app.onError((error, c) => (isColloquyError(error) ? c.text(error.message, 400) : c.text('Sorry.', 500)))

serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 3000) }, ({ port }) =>
  console.log(`http://localhost:${port}`),
)
