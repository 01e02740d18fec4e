/** Runs the real Claude Agent SDK with a fake Claude Code. */

import { join } from 'node:path'
import { query, type SessionStore } from '@anthropic-ai/claude-agent-sdk'

interface Question {
  readonly sessions: SessionStore
  /** Working directory. */
  readonly folder: string
  /** The session to resume. */
  readonly resume?: string
}

/** Sends a prompt to Claude Code, and returns its session and result. */
export async function askClaude(
  prompt: string,
  { sessions, folder, resume }: Question,
): Promise<{ id: string; result: string }> {
  const executable = join(import.meta.dirname, 'fake-claude-code.mjs')
  const options = { sessionStore: sessions, cwd: folder, pathToClaudeCodeExecutable: executable }
  for await (const message of query({
    prompt,
    options: { ...options, ...(resume !== undefined && { resume }) },
  }))
    if (message.type === 'result' && message.subtype === 'success')
      return { id: message.session_id, result: message.result }
  throw new Error('Claude Code returned no result.')
}
