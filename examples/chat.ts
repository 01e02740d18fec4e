/**
 * A complete chat: a server and its page. Replies are streamed, tool calls wait for approval, a reload
 * shows everything again and continues an active reply, and a stopped reply keeps its text.
 *
 *   npm install ./colloquy-0.1.0.tgz hono @hono/node-server @anthropic-ai/sdk zod
 *   ANTHROPIC_API_KEY=... node chat.ts
 *
 * Then open the printed address. FILE is the database (default chat.db), PORT the port. Anyone who knows
 * a conversation's address can use it: put your own login before `app.fetch`. With React, `useChat` of
 * the AI SDK replaces the page's script; see docs/streaming.md.
 */

import Anthropic from '@anthropic-ai/sdk'
import { serve } from '@hono/node-server'
import { createEngine, isColloquyError } from 'colloquy'
import { receiveUIMessages, toUIMessages, uiMessageResponse } from 'colloquy/ai-sdk'
import { sqliteStore } from 'colloquy/sqlite'
import { anthropicStep, tool } from 'colloquy/steps'
import { Hono } from 'hono'
import { z } from 'zod'

const pick = tool({
  name: 'pick',
  description: 'Picks one of several things at random.',
  parameters: z.object({ among: z.string().describe('comma-separated') }),
  execute: ({ among }) => {
    const things = among.split(',')
    return things[Math.floor(Math.random() * things.length)] ?? ''
  },
})
const engine = createEngine({ store: sqliteStore({ file: process.env['FILE'] ?? 'chat.db' }) })
// Pauses runs and releases their leases, so that the next process can continue at once.
process.once('SIGTERM', () => void engine.close().finally(() => process.exit()))
const client = new Anthropic()
const step = anthropicStep({ client, model: 'claude-sonnet-5-5', max_tokens: 4096, tools: [pick] })

const app = new Hono()
app.get('/', async (c) => c.redirect(`/${(await engine.create()).id}`))
app.get('/:id', (c) => c.html(PAGE))
app.get('/:id/messages', async (c) => c.json(await (await engine.open(c.req.param('id'))).read(toUIMessages)))
app.get('/:id/stream', async (c) => uiMessageResponse(await engine.open(c.req.param('id'))))
app.post('/:id/stop', async (c) => c.json(await (await engine.open(c.req.param('id'))).interrupt()))
app.post('/:id', async (c) => {
  const conversation = await engine.open(c.req.param('id'))
  const received = await receiveUIMessages(conversation, await c.req.json())
  const run = () => conversation.run(step, { wait: true, policy: () => true })
  return uiMessageResponse(conversation, { ...received, run })
})
app.onError((error, c) => (isColloquyError(error) ? c.text(error.message, 400) : c.text('Sorry.', 500)))

const PAGE = `<!doctype html><meta charset="utf-8"><title>Chat</title>
<style> main div { white-space: pre-wrap } .user { font-weight: bold } .reasoning, .tool { color: gray } </style>
<main></main>
<form><input autofocus autocomplete="off"> <button>Send</button> <button type="button">Stop</button></form>
<script type="module">
  const [main, form, input, stop] = ['main', 'form', 'input', '[type=button]'].map((each) => document.querySelector(each))
  const here = location.pathname
  let messages = await (await fetch(here + '/messages')).json()

  function draw() {
    main.replaceChildren()
    for (const { role, parts } of messages) for (const part of parts.filter(({ type }) => type !== 'step-start')) {
      const line = document.createElement('div')
      main.append(line)
      line.className = part.toolCallId ? 'tool' : role + ' ' + part.type
      line.textContent = part.toolCallId
        ? part.type + ' ' + JSON.stringify(part.input) + ': ' + (part.output ?? part.errorText ?? part.state) + ' '
        : part.text ?? part.url ?? part.data?.detail ?? part.data?.text ?? part.data?.summary ?? ''
      if (part.state === 'approval-requested') for (const approved of [true, false]) {
        const button = document.createElement('button')
        button.textContent = approved ? 'Allow' : 'Refuse'
        button.onclick = () => decide(part, approved)
        line.append(button)
      }
    }
  }
  function apply(chunk, isContinued) { // applies a chunk to the last message
    const { type, id, toolCallId, toolName, input, output, errorText, messageId } = chunk
    if (type === 'start' && !isContinued)
      messages = [...messages.filter((each) => each.id !== messageId), { id: messageId, role: 'assistant', parts: [] }]
    const { parts } = messages.at(-1)
    const settle = (state, more) => Object.assign(parts.findLast((part) => part.toolCallId === toolCallId), { state, ...more })
    if (type === 'start-step') parts.push({ type: 'step-start' })
    else if (type === 'reset-step') parts.length = parts.findLastIndex((part) => part.type === 'step-start') + 1
    else if (/^(text|reasoning)-start$/.test(type)) parts.push({ type: type.slice(0, -6), id, text: '' })
    else if (/^(text|reasoning)-delta$/.test(type)) parts.findLast((part) => part.id === id).text += chunk.delta
    else if (type === 'tool-input-available') parts.push({ type: 'tool-' + toolName, toolCallId, input, state: 'waits' })
    else if (type === 'tool-approval-request') settle('approval-requested', { approval: { id: chunk.approvalId } })
    else if (type === 'tool-output-available') settle('output-available', { output })
    else if (type === 'tool-output-error') settle('output-error', { errorText })
    else if (type === 'tool-output-denied') settle('refused')
    else if (type === 'file' || type.startsWith('data-')) parts.push(chunk)
  }
  async function show(response, isContinued = false) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (let rest = '', read; !(read = await reader.read()).done;) {
      const lines = (rest + read.value).split('\\n\\n')
      rest = lines.pop()
      for (const line of lines) if (line !== 'data: [DONE]') apply(JSON.parse(line.slice('data: '.length)), isContinued)
      draw()
    }
  }
  const post = async (message) => show(
    await fetch(here, { method: 'POST', body: JSON.stringify({ messages: [message] }) }), message.role === 'assistant')
  function decide(part, approved) {
    Object.assign(part, { state: 'approval-responded', approval: { ...part.approval, approved } })
    draw()
    const last = messages.at(-1)
    return last.parts.some(({ state }) => state === 'approval-requested') ? null : post(last)
  }
  form.onsubmit = (event) => {
    event.preventDefault()
    const message = { id: crypto.randomUUID(), role: 'user', parts: [{ type: 'text', text: input.value }] }
    input.value = ''
    messages.push(message)
    return post(message)
  }
  stop.onclick = () => fetch(here + '/stop', { method: 'POST' })
  draw()
  if (messages.length > 0) await show(await fetch(here + '/stream')) // a reply may be active
</script>`

serve({ fetch: app.fetch, port: Number(process.env['PORT'] ?? 3000) }, ({ port }) =>
  console.log(`http://localhost:${port}`),
).on('error', ({ message }) => {
  console.error(`${message}. PORT=3001 node chat.ts uses another port.`)
  process.exit(1)
})
