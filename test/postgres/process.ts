/** Starts a process with its own stores (`other-process.ts`) and exchanges lines with it. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { inject, onTestFinished } from 'vitest'

export interface OtherProcess {
  /** Runs a command and waits until it completes. */
  send(command: string): Promise<void>
}

export async function otherProcess(url: string, schema: string): Promise<OtherProcess> {
  const child = spawn(process.execPath, [join(inject('built'), 'test/other-process.js'), url, schema], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const gone = once(child, 'close')
  onTestFinished(async () => {
    child.stdin.end()
    await gone
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const expectLine = async (expected: string): Promise<void> => {
    const { value } = await lines.next()
    if (value !== expected)
      throw new Error(`the other process printed ${String(value)} instead of ${expected}`)
  }
  await expectLine('ready')
  return {
    send: (command) => {
      child.stdin.write(`${command}\n`)
      return expectLine(command)
    },
  }
}
