/**
 * The fake provider: official clients can read the replies of any model, and it accepts the next requests
 * of the ready steps.
 */

import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import fc from 'fast-check'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { rollingCondenser } from '../../src/context/condenser/rolling.ts'
import {
  anthropicStep,
  googleStep,
  interactionsStep,
  openaiChatStep,
  openaiResponsesStep,
  type StepOptions,
} from '../../src/steps/index.ts'
import { type ProviderServer, providerServer } from '../../src/testing/node/provider-server.ts'
import { type FakeProvider, fakeProvider } from '../../src/testing/provider/provider.ts'
import { type ModelTurn, playTurns } from '../../src/messages/model.ts'
import { scriptedModel } from '../../src/testing/provider/script.ts'
import { RUNS } from '../../properties/run.ts'
import { begin, branch } from '../conversation/agent.ts'

const model = 'scripted'
const clientOptions = { apiKey: 'none', maxRetries: 0 }

/** The server for Gemini's client, which accepts no `fetch` option. */
let server: ProviderServer
let turns = playTurns([])
beforeAll(async () => {
  server = await providerServer((request, number) => turns(request, number))
})
afterAll(() => server.close())

const GRAMMARS: readonly (readonly [
  string,
  (options: StepOptions, script: readonly ModelTurn[]) => [FakeProvider, Step],
])[] = [
  [
    'Anthropic Messages',
    (options, script) => {
      const provider = fakeProvider(playTurns(script))
      const client = new Anthropic({ ...clientOptions, fetch: provider.fetch })
      return [provider, anthropicStep({ client, model, max_tokens: 9, ...options })]
    },
  ],
  [
    'OpenAI Chat Completions',
    (options, script) => {
      const provider = fakeProvider(playTurns(script))
      const client = new OpenAI({ ...clientOptions, fetch: provider.fetch })
      return [provider, openaiChatStep({ client, model, ...options })]
    },
  ],
  [
    'OpenAI Responses',
    (options, script) => {
      const provider = fakeProvider(playTurns(script))
      const client = new OpenAI({ ...clientOptions, fetch: provider.fetch })
      return [provider, openaiResponsesStep({ client, model, ...options })]
    },
  ],
  [
    'Gemini',
    (options, script) => {
      turns = playTurns(script)
      const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: server.url } })
      return [server, googleStep({ client, model, ...options })]
    },
  ],
  [
    'Gemini Interactions',
    (options, script) => {
      turns = playTurns(script)
      const client = new GoogleGenAI({ apiKey: 'none', httpOptions: { baseUrl: server.url } })
      return [server, interactionsStep({ client, model, ...options })]
    },
  ],
]

const numbers = fc.record({ a: fc.integer(), b: fc.integer() }, { noNullPrototype: true })

/** Runs a model until it is done, or until the provider rejects a request; at most 12 times. */
async function runUntilDone(conversation: Conversation, step: Step, provider: FakeProvider): Promise<void> {
  const condenser = rollingCondenser({
    retries: 0,
    summarise: async ({ events }) => `${events.length} said.`,
  })
  for (let turn = 0; turn < 12; turn += 1) {
    await conversation.run(step, { condenser }).catch(() => undefined)
    const last = JSON.stringify((await branch(conversation)).at(-1))
    if (last.includes('Done.') || provider.refused.length > 0) return
    await conversation.sendMessage(`Go on, for the ${turn}th time.`)
  }
}

describe.each(GRAMMARS)('%s', (_, makeStep) => {
  it('the fake provider accepts all requests of the ready step, for any model', async () => {
    const script = fc.tuple(
      scriptedModel({ tools: { add: numbers }, tooLong: true, maxTurns: 5 }),
      fc.boolean(),
    )
    await fc.assert(
      fc.asyncProperty(script, async ([turns, stream]) => {
        const add = {
          name: 'add',
          description: 'Adds.',
          parameters: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } } },
          execute: ({ a, b }: Record<string, unknown>) => String(Number(a) + Number(b)),
        }
        const [provider, step] = makeStep({ tools: [add], system: 'Be brief.', stream }, turns)
        const before = provider.refused.length
        await runUntilDone(await begin('Go.'), step, provider)
        expect(provider.refused.slice(before)).toEqual([])
      }),
      { numRuns: Math.ceil(RUNS / 20) },
    )
  })
})

it('the fake provider names the events of an Interactions stream', async () => {
  const { fetch } = fakeProvider(playTurns([]))
  const input = [{ type: 'user_input', content: [{ type: 'text', text: 'hi' }] }]
  const body = JSON.stringify({ model, stream: true, input })
  const response = await fetch('http://any/v1beta/interactions', { method: 'POST', body })
  expect(await response.text()).toMatch(/^event: interaction\.created\n/)
})
