/**
 * An agent with a slow tool and a subagent, and a user who sends messages meanwhile. The model is scripted,
 * so you need no key. `node examples/background.ts`
 */

import { createEngine, memoryStore, type Step } from 'colloquy'
import { background, openaiChatStep, subagent, type StepTool } from 'colloquy/steps'

const call = (name: string) => ({
  id: `call_${name}`,
  type: 'function',
  function: { name, arguments: '{"task":"sales"}' },
})

/** A scripted client: it calls both tools first, then repeats the last message. */
const client = {
  chat: {
    completions: {
      async create({ messages }: { messages: readonly { role: string; content: unknown }[] }) {
        const isFirst = messages.every(({ role }) => role !== 'assistant')
        const content = isFirst ? null : `I have read: ${JSON.stringify(messages.at(-1)?.content)}`
        const tool_calls = isFirst ? [call('report'), call('research')] : undefined
        const message = { role: 'assistant', content, tool_calls }
        return { id: 'r', choices: [{ index: 0, finish_reason: isFirst ? 'tool_calls' : 'stop', message }] }
      },
    },
  },
}

const slowly = (text: string) => new Promise<string>((resolve) => setTimeout(() => resolve(text), 200))
const report: StepTool = {
  name: 'report',
  description: 'Writes a report.',
  parameters: { type: 'object' },
  execute: async () => background(slowly('Sales went up.'), { content: 'Started.', task: 'job-7' }),
}

const researcher: Step = async function* () {
  const content = [{ text: 'The season explains it.' }]
  yield { kind: 'MessageEvent', source: 'agent', llm_message: { role: 'assistant', content } }
}
const research = subagent({
  name: 'research',
  description: 'Looks things up.',
  step: researcher,
  background: true,
})

const engine = createEngine({ store: memoryStore() })
const conversation = await engine.create({ title: 'Sales' })
await conversation.sendMessage('Why did sales go up?')
const step = openaiChatStep({ client, model: 'a-model', tools: [report, research], stream: false })
const run = conversation.run(step, { until: 'settled' })
await conversation.waitFor('finished')
await conversation.sendMessage('What else do you do?')
await run
for (const message of await conversation.messages())
  if (message.role !== 'tool') console.log(`${message.role}: ${JSON.stringify(message.content)}`)
console.log(`children: ${(await conversation.children()).length}`)
await engine.close()
