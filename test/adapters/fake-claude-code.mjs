/**
 * A fake Claude Code for its SDK. For each prompt it thinks, calls a tool, and replies with the number of
 * session lines at its start. A prompt that contains "subagent" also starts a subagent.
 */

import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const { CLAUDE_CONFIG_DIR = '.' } = process.env
const option = (name) => process.argv.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1)
const sessionId = option('--resume') ?? randomUUID()
const folder = join(CLAUDE_CONFIG_DIR, 'projects', process.cwd().replaceAll(/[^a-zA-Z0-9]/g, '-'))
const file = join(folder, `${sessionId}.jsonl`)
const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
let parentUuid = lines.map((line) => JSON.parse(line).uuid ?? null).findLast((uuid) => uuid !== null) ?? null

const send = (frame) => process.stdout.write(`${JSON.stringify({ session_id: sessionId, ...frame })}\n`)

function write(type, message, fields = {}, path = file) {
  const uuid = randomUUID()
  const timestamp = new Date().toISOString()
  const about = { userType: 'external', cwd: process.cwd(), sessionId, version: '2.1.0' }
  const entry = { parentUuid, isSidechain: false, ...about, type, message, uuid, timestamp, ...fields }
  parentUuid = uuid
  send({ type: 'transcript_mirror', filePath: path, entries: [entry] })
}

const reply = (id, stop_reason, ...content) => ({
  id,
  type: 'message',
  role: 'assistant',
  model: 'fake',
  content,
  stop_reason,
  usage: { input_tokens: 10, output_tokens: 5 },
})

function answer(message) {
  const call = `toolu_${randomUUID().slice(0, 8)}`
  const [first, second] = [`msg_${randomUUID()}`, `msg_${randomUUID()}`]
  write('user', message)
  write('assistant', reply(first, 'tool_use', { type: 'thinking', thinking: 'Hm.', signature: 'signed' }))
  write(
    'assistant',
    reply(first, 'tool_use', { type: 'tool_use', id: call, name: 'Read', input: { of: 'a' } }),
  )
  if (JSON.stringify(message).includes('subagent')) {
    const main = parentUuid
    const path = join(folder, sessionId, 'subagents', 'agent-a1.jsonl')
    const side = { isSidechain: true, agentId: 'a1' }
    write('user', { role: 'user', content: 'Look.' }, { ...side, parentUuid: null }, path)
    const text = { type: 'text', text: 'I have looked.' }
    write('assistant', reply(`msg_${randomUUID()}`, 'end_turn', text), side, path)
    parentUuid = main
  }
  const content = [{ type: 'tool_result', tool_use_id: call, content: 'read' }]
  const isAgent = JSON.stringify(message).includes('subagent')
  write(
    'user',
    { role: 'user', content },
    isAgent ? { toolUseResult: { status: 'completed', agentId: 'a1' } } : {},
  )
  const text = { type: 'text', text: `I began with ${lines.length} lines.` }
  const last = reply(second, 'end_turn', text)
  write('assistant', last)
  send({ type: 'assistant', message: last, uuid: randomUUID(), parent_tool_use_id: null })
  const costs = {
    duration_ms: 1,
    duration_api_ms: 1,
    num_turns: 1,
    total_cost_usd: 0,
    usage: {},
    modelUsage: {},
  }
  const result = { subtype: 'success', is_error: false, result: text.text, permission_denials: [] }
  send({ type: 'result', ...costs, ...result, uuid: randomUUID() })
}

for await (const line of createInterface({ input: process.stdin })) {
  const { type, message, request_id } = JSON.parse(line)
  if (type === 'control_request')
    send({ type: 'control_response', response: { subtype: 'success', request_id, response: {} } })
  if (type === 'user') answer(message)
}
