/**
 * Tests an agent server with random users, a random model and restarts. Here the server is the
 * library's service in this process. For your own server, return its address from `start`, and let it call
 * the model at the address of `providerServer(model)`.
 *
 *   npm install ./colloquy-0.1.0.tgz fast-check @anthropic-ai/sdk hono
 *   node drive-server.ts
 *
 * RUNS is the number of cases (default 20).
 */

import Anthropic from '@anthropic-ai/sdk'
import { createEngine, memoryStore } from 'colloquy'
import { createService } from 'colloquy/service'
import { anthropicStep } from 'colloquy/steps'
import { driveServer, fakeProvider } from 'colloquy/testing/server'

const numRuns = Number(process.env['RUNS'] ?? 20)

await driveServer({
  numRuns,
  lacks: { crash: 'the test cannot kill a service in its own process' },
  start: async ({ model, tool }) => {
    const store = memoryStore()
    const provider = fakeProvider(model)
    const client = new Anthropic({ apiKey: 'none', maxRetries: 0, fetch: provider.fetch })
    const step = anthropicStep({ client, model: 'any', max_tokens: 1000, tools: [tool] })
    const startService = () => {
      const engine = createEngine({ store })
      return { engine, service: createService({ engine, agent: () => step }) }
    }
    let current = startService()
    const address = () => ({ url: 'http://localhost', fetch: current.service.fetch })
    const close = async () => {
      await current.engine.close()
      await current.service.runs.settle()
    }
    const restart = async () => {
      await close()
      current = startService()
      return address()
    }
    return { ...address(), provider, restart, close }
  },
})
console.log(`${numRuns} cases, and every law held.`)
