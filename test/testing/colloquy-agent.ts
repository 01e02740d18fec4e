/**
 * An agent for `colloquy serve --agent` that calls the model at MODEL_URL, with the tools of the server
 * cases.
 */

import { appendFileSync } from 'node:fs'
import OpenAI from 'openai'
import { z } from 'zod'
import type { RunOptions } from '../../src/conversation/index.ts'
import { openaiChatStep, tool } from '../../src/steps/index.ts'

/** Short, so that another process soon continues the run of a killed process. */
export const run: RunOptions = { leaseTtl: 2_500 }

const note = tool({
  name: 'note',
  description: 'Keeps a text.',
  parameters: z.object({ text: z.string() }),
  execute: ({ text }) => {
    appendFileSync(process.env['NOTES'] ?? '', `${text}\n`)
    return `noted: ${text}`
  },
})

const wait = tool({
  name: 'wait',
  description: 'Waits.',
  parameters: z.object({ seconds: z.number() }),
  execute: (_, { signal }) =>
    new Promise<string>((end) => signal.addEventListener('abort', () => end('stopped'))),
})

export const step = openaiChatStep({
  client: new OpenAI({ apiKey: 'none', maxRetries: 0, baseURL: `${process.env['MODEL_URL']}/v1` }),
  model: 'scripted',
  tools: [note, wait],
})
