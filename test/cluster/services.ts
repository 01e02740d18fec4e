/** Services started with the command, on their own host. */

import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { makeHost, onHost, processesOf } from './network.ts'
import { eventually } from './shell.ts'

const HOST = 'app'
const COMMAND = resolve(import.meta.dirname, '../../src/cli/main.ts')

export interface Services {
  readonly key: string
  readonly urls: readonly string[]
  isAlive(): Promise<boolean>
}

/** Starts `count` services on one database. */
export async function startServices(folder: string, url: string, count: number): Promise<Services> {
  const address = await makeHost(HOST, 3)
  const key = 'key-of-this-run'
  const urls: string[] = []
  for (let number = 1; number <= count; number += 1) {
    const cwd = join(folder, `service-${number}`)
    await mkdir(cwd)
    const port = 8_000 + number
    const log = openSync(join(folder, 'logs', `service-${number}.log`), 'a')
    const serve = ['serve', '--db', url, '--host', address, '--port', String(port)]
    const [program = '', ...args] = [...onHost(HOST), process.execPath, COMMAND, ...serve]
    const env = { ...process.env, COLLOQUY_SESSION_API_KEYS: key }
    spawn(program, args, { stdio: ['ignore', log, log], detached: true, cwd, env }).unref()
    closeSync(log)
    urls.push(`http://${address}:${port}`)
  }
  for (const each of urls) {
    const isReady = async (): Promise<boolean> =>
      (await fetch(`${each}/ready`, { signal: AbortSignal.timeout(2_000) }).catch(() => null))?.ok === true
    if (!(await eventually(isReady, 60_000))) throw new Error(`no service at ${each}; see ${folder}/logs`)
  }
  return { key, urls, isAlive: async () => (await processesOf(HOST)).length === count }
}
