/**
 * Tests an agent server with arbitrary users, an arbitrary model and restarts; here, the library's
 * service in this process. For your own server, return its address from `start`, and use the model at the
 * address of `providerServer(model)`.
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
  lacks: { crash: 'a service cannot be killed in the process that it is tried in' },
  start: async ({ model, tool }) => {
    const store = memoryStore()
    const provider = fakeProvider(model)
    const client = new Anthropic({ apiKey: 'none', maxRetries: 0, fetch: provider.fetch })
    const step = anthropicStep({ client, model: 'any', max_tokens: 1000, tools: [tool] })
    const begin = () => {
      const engine = createEngine({ store })
      return { engine, service: createService({ engine, agent: () => step }) }
    }
    let now = begin()
    const address = () => ({ url: 'http://localhost', fetch: now.service.fetch })
    const close = async () => {
      await now.engine.close()
      await now.service.runs.settle()
    }
    const restart = async () => {
      await close()
      now = begin()
      return address()
    }
    return { ...address(), provider, restart, close }
  },
})
console.log(`${numRuns} cases, and every law held.`)
