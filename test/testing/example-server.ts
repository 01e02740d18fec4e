/** The example agent server as a process with its own folder, for the conformance kit. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ServerConformanceOptions } from '../../src/testing/server/index.ts'
import type { ScriptedModel } from './scripted-model.ts'

/** Starts a process, and waits until it prints its address. */
export async function spawnServer(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, [...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  let output = ''
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (errors += text))
  const url = await new Promise<string>((result, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const address = / at (http:\S+)\n/.exec(output)?.[1]
      if (address !== undefined) result(address)
    })
    child.once('exit', () => reject(new Error(`The server ended: ${errors}`)))
  })
  return { child, url }
}

export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill(signal)
  await ended
}

/** Kit options for a server that the file starts, and the clean-up. */
export function exampleServer(
  file: string,
  model: ScriptedModel,
): ServerConformanceOptions & { readonly close: () => Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-example-'))
  const API_KEY = 'the-key-of-the-test'
  let running: ChildProcess | null = null
  const ending = (signal: NodeJS.Signals) => async (): Promise<void> => {
    if (running !== null) await end(running, signal)
  }
  return {
    name: 'the example',
    async start() {
      const env = { FOLDER: folder, MODEL_URL: model.url, PORT: '0', API_KEY }
      const { child, url } = await spawnServer([file], env)
      running = child
      return { url, apiKey: API_KEY }
    },
    stop: ending('SIGTERM'),
    kill: ending('SIGKILL'),
    notes() {
      try {
        return readFileSync(join(folder, 'notes.txt'), 'utf8').split('\n').slice(0, -1)
      } catch {
        return []
      }
    },
    requests: model.requests,
    async close() {
      await ending('SIGKILL')()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
