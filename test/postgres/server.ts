/** A real PostgreSQL test server in its own process and folder, which ends with its starter. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { FOLDER_PREFIX, sweep } from './sweep.ts'

export interface TestServer {
  /** Superuser URL of the database `postgres`. */
  readonly url: string
  /** Restarts it properly at the same address. */
  restart(): Promise<void>
  /** Kills the first process with SIGKILL; the others then end by themselves. */
  kill(): Promise<void>
  /** Starts it again after a kill. */
  start(): Promise<void>
  /** Stops it and removes its folder. Idempotent. */
  stop(): Promise<void>
}

/**
 * Starts a server in about a second. It ends with `stop` or with this process, even when killed. If the
 * keeper is killed too, the next start cleans up.
 * @param options `durable`: whether commits are flushed to disk. Tests that kill processes need no flush;
 * measurements do.
 */
export async function startServer(options: { readonly durable?: boolean } = {}): Promise<TestServer> {
  await sweep()
  const folder = await mkdtemp(join(tmpdir(), FOLDER_PREFIX))
  const keeper = spawn(
    process.execPath,
    [join(import.meta.dirname, 'keeper.ts'), folder, options.durable === true ? 'on' : 'off'],
    // Own process group, so that an interrupt at the terminal does not end it before its cleanup.
    { detached: true, stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const gone = once(keeper, 'exit')
  const replies = createInterface({ input: keeper.stdout })[Symbol.asyncIterator]()
  const nextReply = async (): Promise<string> => {
    const { value, done } = await replies.next()
    if (done === true) throw new Error('the keeper of the test server ended')
    return value
  }
  const command = async (line: string): Promise<void> => {
    keeper.stdin.write(`${line}\n`)
    await nextReply()
  }
  const { url }: { url: string } = JSON.parse(await nextReply())
  return {
    url,
    restart: () => command('restart'),
    kill: () => command('kill'),
    start: () => command('start'),
    stop: async () => {
      keeper.stdin.end()
      await gone
    },
  }
}
