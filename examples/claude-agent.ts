/**
 * Keeps sessions of the Claude Agent SDK in a Colloquy database. Start the program again to continue
 * the latest session, on any machine that can open the database.
 *
 *   npm install ./colloquy-0.1.0.tgz @anthropic-ai/claude-agent-sdk
 *   FILE=agent.db node claude-agent.ts "What is in this folder?"
 *   npx colloquy inspect --db agent.db
 */

import { listSessions, query } from '@anthropic-ai/claude-agent-sdk'
import { sessionStore as createSessionStore } from 'colloquy/claude-agent'
import { sqliteStore } from 'colloquy/sqlite'

const store = sqliteStore({ file: process.env['FILE'] ?? 'agent.db' })
const sessionStore = createSessionStore({ store })
const cwd = process.cwd()
const [latest] = await listSessions({ dir: cwd, sessionStore })
/** Path of the Claude Code executable. Default: the executable that the SDK includes. */
const executable = process.env['CLAUDE_CODE']
const options = {
  cwd,
  sessionStore,
  ...(latest && { resume: latest.sessionId }),
  ...(executable && { pathToClaudeCodeExecutable: executable }),
}
const prompt = process.argv[2] ?? 'What is in this folder?'
for await (const message of query({ prompt, options }))
  if (message.type === 'result' && message.subtype === 'success') console.log(message.result)
await store.close()
