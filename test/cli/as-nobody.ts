/**
 * Runs commands in a process with an unprivileged user. Each line of input is a JSON list of a command's
 * arguments; prints its outcome as a line of JSON.
 */

import { flushCompileCache } from 'node:module'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import type { Sink } from '../../src/cli/print/io.ts'
import { run } from '../../src/cli/run.ts'

const NOBODY = 65_534

// Load everything before dropping privileges: the code may be in a private folder.
await import('../../src/service/node/index.ts')
await import('../../src/store/sqlite/index.ts')
// Keep the compile cache now, since this user cannot write it at exit.
flushCompileCache()
if (process.getuid?.() === 0) {
  process.setgroups?.([])
  process.setgid?.(NOBODY)
  process.setuid?.(NOBODY)
}

async function outcomeOf(argv: readonly string[]): Promise<object> {
  let [out, err] = ['', '']
  const stdout: Sink = { isTTY: false, write: async (text) => void (out += text) }
  const stderr: Sink = { isTTY: false, write: async (text) => void (err += text) }
  const code = await run(argv, { stdin: Readable.from([]), stdout, stderr, env: {} })
  return { code, out, err }
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await outcomeOf(JSON.parse(line)))}\n`)
