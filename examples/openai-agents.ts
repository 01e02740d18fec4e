/**
 * An agent of the OpenAI Agents SDK whose session is a Colloquy conversation. Each start sends one
 * message; the agent remembers the messages of earlier starts.
 *
 *   npm install ./colloquy-0.1.0.tgz @openai/agents
 *   FILE=agents.db node openai-agents.ts "Hello"
 *   npx colloquy inspect --db agents.db
 */

import { Agent, type Model, Runner, Usage } from '@openai/agents-core'
import { createEngine } from 'colloquy'
import { colloquySession } from 'colloquy/openai-agents'
import { sqliteStore } from 'colloquy/sqlite'

const store = sqliteStore({ file: process.env['FILE'] ?? 'agents.db' })
const engine = createEngine({ store })
const session = colloquySession({ conversation: await engine.openOrCreate('chat-1') })

/** Without `model`, the SDK calls OpenAI. This model counts its input. */
const model = {
  async getResponse({ input }) {
    const content = [{ type: 'output_text', text: `You have sent ${input.length} items.` }]
    const message = { type: 'message', role: 'assistant', status: 'completed', content }
    return { usage: new Usage(), output: [message as never] }
  },
  getStreamedResponse: () => {
    throw new Error('not streamed')
  },
} satisfies Model
const agent = new Agent({ name: 'Guide', model })

const runner = new Runner({ tracingDisabled: true })
const { finalOutput } = await runner.run(agent, process.argv[2] ?? 'Hello', { session })
console.log(finalOutput)
await engine.close()
await store.close()
