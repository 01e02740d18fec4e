/** Starts a real PostgreSQL server for tests, of its own process and folder, which ends with whoever started it. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { FOLDER_PREFIX, sweep } from './sweep.ts'

/** A server that the tests own. */
export interface TestServer {
  /** Of its database `postgres`, as a superuser. */
  readonly url: string
  /** Stops it in good order and starts it again at the same address. */
  restart(): Promise<void>
  /** Kills its first process with SIGKILL; the others end by themselves. */
  kill(): Promise<void>
  /** Starts it again after a kill. */
  start(): Promise<void>
  /** Ends it and removes its folder. May be called more than once. */
  stop(): Promise<void>
}

/**
 * Starts a server in about a second. It ends when `stop` is called or this process ends, however that comes about; should even its
 * keeper be killed, the next start clears away what is left.
 *
 * @param options `durable`: whether commits are flushed to disk; a test that kills processes needs no flush, a measurement does
 */
export async function startServer(options: { readonly durable?: boolean } = {}): Promise<TestServer> {
  await sweep()
  const folder = await mkdtemp(join(tmpdir(), FOLDER_PREFIX))
  const keeper = spawn(
    process.execPath,
    [join(import.meta.dirname, 'keeper.ts'), folder, options.durable === true ? 'on' : 'off'],
    // A group of its own, so that an interrupt at the terminal does not end it before it has cleared up.
    { detached: true, stdio: ['pipe', 'pipe', 'inherit'] },
  )
  const gone = once(keeper, 'exit')
  const answers = createInterface({ input: keeper.stdout })[Symbol.asyncIterator]()
  const answer = async (): Promise<string> => {
    const { value, done } = await answers.next()
    if (done === true) throw new Error('the keeper of the test server ended')
    return value
  }
  const command = async (line: string): Promise<void> => {
    keeper.stdin.write(`${line}\n`)
    await answer()
  }
  const { url }: { url: string } = JSON.parse(await answer())
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
