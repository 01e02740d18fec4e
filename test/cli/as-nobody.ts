/**
 * Runs commands in a process of its own for a user who may do little: lists of arguments come in as JSON, what each command left behind goes
 * out as JSON. With `hold FILE` it says that it reads a database, and reads on once it is told to.
 */

import { once } from 'node:events'
import { flushCompileCache } from 'node:module'
import { addressOf } from '../../src/cli/db/address.ts'
import { withStore } from '../../src/cli/db/store.ts'
import type { Sink } from '../../src/cli/print/io.ts'
import { run } from '../../src/cli/run.ts'

const NOBODY = 65_534

// All is loaded before the rights are given up: the code may lie where only its owner may go.
await import('../../src/service/node/index.ts')
await import('../../src/store/sqlite/index.ts')
// And is kept compiled for the next, which at its end this user may not do.
flushCompileCache()
if (process.getuid?.() === 0) {
  process.setgroups?.([])
  process.setgid?.(NOBODY)
  process.setuid?.(NOBODY)
}

async function hold(file: string): Promise<object> {
  const read = withStore(addressOf(file), { write: false }, async (store) => {
    await store.getConversation('c')
    process.stdout.write('reading\n')
    await once(process.stdin, 'data')
    return store.getConversation('c')
  })
  return read.then(
    (record) => ({ version: record?.version }),
    (error: Error) => ({ error: error.message }),
  )
}

async function outcomeOf(argv: readonly string[]): Promise<object> {
  let [out, err] = ['', '']
  const stdout: Sink = { isTTY: false, write: async (text) => void (out += text) }
  const stderr: Sink = { isTTY: false, write: async (text) => void (err += text) }
  const code = await run(argv, { stdin: process.stdin, stdout, stderr, env: {} })
  return { code, out, err }
}

const [first = '', file = ''] = process.argv.slice(2)
const said: object[] = []
if (first === 'hold') said.push(await hold(file))
else for (const argv of JSON.parse(first) as string[][]) said.push(await outcomeOf(argv))
process.stdout.write(`${JSON.stringify(first === 'hold' ? said[0] : said)}\n`)
process.stdin.destroy()
