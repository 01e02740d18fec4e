/**
 * An agent in a terminal: it resumes its conversation, streams its reply, and asks before it runs a
 * command. Ctrl-C stops an active reply; otherwise it ends the program.
 *
 *   npm install ./colloquy-0.1.0.tgz @anthropic-ai/sdk zod
 *   ANTHROPIC_API_KEY=... node terminal.ts [name of the conversation]
 *
 * FILE is the database (default terminal.db). Inspect it with
 *   npx colloquy inspect --db terminal.db --conversation first
 */

import { execFile } from 'node:child_process'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import Anthropic from '@anthropic-ai/sdk'
import { createEngine, listPendingCalls } from 'colloquy'
import { sqliteStore } from 'colloquy/sqlite'
import { anthropicStep, tool } from 'colloquy/steps'
import { z } from 'zod'

const shell = tool({
  name: 'shell',
  description: 'Runs a command in a shell, in the current folder.',
  parameters: z.object({ command: z.string() }),
  execute: async ({ command }, { signal }) => {
    const { stdout, stderr } = await promisify(execFile)('sh', ['-c', command], { signal })
    return stdout + stderr
  },
})
const client = new Anthropic()
const step = anthropicStep({ client, model: 'claude-sonnet-5-5', max_tokens: 4096, tools: [shell] })

const store = sqliteStore({ file: process.env['FILE'] ?? 'terminal.db' })
const engine = createEngine({ store })
const conversation = await engine.openOrCreate(process.argv[2] ?? 'first')

const terminal = createInterface({ input: process.stdin })
const lines = terminal[Symbol.asyncIterator]()

/** The user's input; null at the end. */
async function ask(prompt: string): Promise<string | null> {
  process.stdout.write(prompt)
  const { done, value } = await lines.next()
  return done === true ? null : value
}

/** Prints new streamed text and command results. */
async function printNewEvents(): Promise<void> {
  const { version } = await conversation.record()
  for await (const item of conversation.subscribe({ after: version - 1 })) {
    if (item.type === 'delta') process.stdout.write(item.event.content ?? '')
    if (item.type !== 'event' || !('kind' in item.fact)) continue
    if (item.fact.kind === 'ObservationEvent')
      for (const part of item.fact.observation.content ?? [])
        if ('text' in part) console.log(`\n${part.text}`)
  }
}

/** Runs until the agent is done; the user approves each call. */
async function reply(): Promise<void> {
  for (;;) {
    const { status, error } = await conversation.run(step, { wait: true, policy: () => true })
    if (error !== undefined) console.error(error instanceof Error ? error.message : error)
    if (status !== 'waiting_for_confirmation') return
    for (const { entry } of listPendingCalls(await conversation.state())) {
      const answer = await ask(`\n${entry.event.tool_name} ${entry.event.tool_call.arguments} (y/n) `)
      if (answer === 'y') await conversation.approve([entry.id])
      else await conversation.reject([entry.id])
    }
  }
}

let isBusy = false
process.once('SIGTERM', () => {
  terminal.close()
  void engine.close()
})
process.on('SIGINT', () => (isBusy ? void conversation.interrupt() : terminal.close()))
const printing = printNewEvents()
for (let text = await ask('> '); text !== null; text = await ask('\n> ')) {
  if (text.trim() === '') continue
  await conversation.sendMessage(text)
  isBusy = true
  await reply()
  isBusy = false
}
await engine.close()
await printing
await store.close()
