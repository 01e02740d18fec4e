/**
 * The official clients of Anthropic, OpenAI and Google, with a server that implements their wire protocols
 * and rejects the same requests as the providers.
 */

import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { rollingCondenser } from '../../src/context/condenser/rolling.ts'
import {
  anthropicStep,
  googleStep,
  interactionsStep,
  openaiChatStep,
  openaiResponsesStep,
  type StepOptions,
  type StepTool,
} from '../../src/steps/index.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { begin, branch } from '../conversation/agent.ts'
import { type ProviderServer, providerServer } from '../../src/testing/node/provider-server.ts'
import type { Model } from '../../src/messages/model.ts'

let server: ProviderServer | null = null
afterEach(() => server?.close())

// A client may print a warning when its results are read the wrong way.
const warned = vi.spyOn(console, 'warn')
afterEach(() => expect(warned).not.toHaveBeenCalled())
const serve = async (model?: Model): Promise<ProviderServer> => (server = await providerServer(model))

const apiKey = 'none'
const model = 'any'
/** The signed parts of a provider's replies. */
type Signs = 'thoughts' | 'calls' | 'nothing'

const CLIENTS: readonly (readonly [string, (url: string, options: StepOptions) => Step, Signs])[] = [
  [
    'Anthropic Messages',
    (url, options) => {
      const client = new Anthropic({ baseURL: url, apiKey, maxRetries: 0 })
      return anthropicStep({ client, model, max_tokens: 1000, ...options })
    },
    'thoughts',
  ],
  [
    'OpenAI Chat Completions',
    (url, options) => {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
      return openaiChatStep({ client, model, ...options })
    },
    'nothing',
  ],
  [
    'OpenAI Responses',
    (url, options) => {
      const client = new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
      return openaiResponsesStep({ client, model, ...options })
    },
    'thoughts',
  ],
  [
    'Google Gemini',
    (url, options) => {
      const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } })
      return googleStep({ client, model, ...options })
    },
    'calls',
  ],
  [
    'Gemini Interactions',
    (url, options) => {
      const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } })
      return interactionsStep({ client, model, ...options })
    },
    'thoughts',
  ],
]

const idle: StepTool = {
  name: 'idle',
  description: 'Waits.',
  parameters: { type: 'object' },
  execute: async () => 'Done.',
}

describe.each(CLIENTS)('%s', (_, stepOf, signs) => {
  it.each([true, false])(
    'a conversation with tools, and a message during a call, is accepted (streamed: %s)',
    async (stream) => {
      const provider = await serve()
      const { url, refused, requests } = provider
      const conversation = await begin('What is the weather in Paris?')
      const weather: StepTool = {
        name: 'weather',
        description: 'The weather of a city.',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
        execute: async ({ city }) => {
          if (city === 'Rome') await conversation.sendMessage('And in Oslo?')
          return `${String(city)}: sun.`
        },
      }
      const step = stepOf(url, { tools: [weather], system: 'Be brief.', stream })
      expect((await conversation.run(step)).status).toBe('finished')
      await conversation.sendMessage('And in Rome?')
      expect((await conversation.run(step)).status).toBe('finished')
      expect(refused).toEqual([])
      const text = JSON.stringify(await branch(conversation))
      for (const city of ['Paris', 'Rome', 'Oslo']) expect(text).toContain(`${city}: sun.`)
      expect(requests.length).toBeGreaterThan(4)
      // Each request contains all earlier replies.
      const replies = [...requests.keys()].reduce((sum, index) => sum + index, 0)
      if (signs === 'calls') expect(provider.signed).toBeGreaterThan(4)
      else expect(provider.signed).toBe(signs === 'thoughts' ? replies : 0)
    },
  )

  it.each<readonly [string, StepOptions, StepOptions]>([
    ['with tools', {}, { tools: [idle] }],
    ['without tools', { tools: [idle] }, {}],
    ['with an empty list of tools', { tools: [idle] }, { tools: [] }],
  ])('a conversation continues %s, and again as before', async (_name, first, last) => {
    const { url, refused } = await serve(() => ({ says: [{ think: 'They greet me.' }, 'Hello.'] }))
    const conversation = await begin('Hi')
    for (const options of [first, last, first, last]) {
      expect((await conversation.run(stepOf(url, options))).status).toBe('finished')
      await conversation.sendMessage('And?')
    }
    expect(refused).toEqual([])
  })

  it('an interrupt keeps the streamed text of a reply, and ends the request at the server', async () => {
    const provider = await serve(() => ({ says: ['Once upon a time…'], endless: true }))
    const { url } = provider
    const conversation = await begin('Tell me a story.')
    const running = conversation.run(stepOf(url, {}))
    let text = ''
    for await (const item of conversation.subscribe()) {
      if (item.type === 'delta' && item.event.kind === 'StreamingDeltaEvent') text += item.event.content ?? ''
      if (text === 'Once upon a time…') break
    }
    await conversation.interrupt()
    expect((await running).status).toBe('paused')
    expect(JSON.stringify((await branch(conversation)).at(-1))).toContain('Once upon a time…')
    await expect.poll(() => provider.unplayed).toBe(1)
  })

  it('a request that is too long is condensed and retried', async () => {
    const { url, requests, refused } = await serve((request) =>
      JSON.stringify(request).length > 2_500 ? { fails: 'too_long' } : { says: ['Well.'] },
    )
    const conversation = await begin('Hello.')
    const step = stepOf(url, {})
    const condenser = rollingCondenser({ summarise: async ({ events }) => `${events.length} said.` })
    for (let turn = 0; turn < 8; turn += 1) {
      expect((await conversation.run(step, { condenser })).status).toBe('finished')
      await conversation.sendMessage(`${turn} ${'x'.repeat(300)}`)
    }
    expect(JSON.stringify(requests.at(-1)?.body)).toContain(' said.')
    expect(refused).toEqual([])
  })
})
