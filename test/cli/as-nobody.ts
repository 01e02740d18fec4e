/**
 * Runs commands in a process with an unprivileged user. Argument: JSON lists of command arguments; prints
 * the outcomes as JSON.
 */

import { flushCompileCache } from 'node:module'
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
  const code = await run(argv, { stdin: process.stdin, stdout, stderr, env: {} })
  return { code, out, err }
}

const outcomes: object[] = []
for (const argv of JSON.parse(process.argv[2] ?? '[]') as string[][]) outcomes.push(await outcomeOf(argv))
process.stdout.write(`${JSON.stringify(outcomes)}\n`)
process.stdin.destroy()
