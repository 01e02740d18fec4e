/** A database and an address go in; a service runs there until it is asked to end, then the exit code comes out. */

import { explain } from '../attempt.ts'
import { withStore } from '../db/open.ts'
import { FileError, UsageError } from '../failure.ts'
import { type Io, writeLines } from '../io.ts'
import type { ServeRequest } from '../request.ts'
import { plain } from '../show/text.ts'

const KEYS = 'COLLOQUY_SESSION_API_KEYS'

/** Serves until it is asked to end. @throws UsageError, FileError, ColloquyError. */
export async function serveConversations(
  { db, host, port }: ServeRequest,
  io: Io,
  version: string,
): Promise<number> {
  const keys = keysOf(io)
  const { isLoopback, serve, scriptedAgent } = await import('../../service/node/index.ts')
  if (keys.length === 0 && !isLoopback(host))
    throw new UsageError(`--host ${host} lets other machines in: set ${KEYS}, or leave --host out`)
  const lines = logOn(io)
  return withStore(db, { write: true, listen: true }, async (store) => {
    const server = await serve({
      store,
      host,
      port,
      keys,
      version,
      agent: scriptedAgent(),
      log: lines.write,
      onFailure(error, _request, requestId) {
        lines.write({
          time: new Date().toISOString(),
          level: 'error',
          message: explain(error),
          ...(requestId !== '' && { request_id: requestId }),
          stack: error instanceof Error ? plain(error.stack ?? '') : '',
        })
      },
    }).catch((error: unknown) => {
      const listening = error instanceof Error && error.cause instanceof Error && 'syscall' in error.cause
      throw listening ? new FileError('unexpected', error.message) : error
    })
    const stopped = new Promise<void>((resolve) => io.onStop?.(resolve))
    try {
      await writeLines(io.stdout, [
        `Colloquy serves ${db.label} at ${server.url}`,
        `  what it can do: ${server.url}/openapi.json`,
        keys.length === 0
          ? `  no key is asked for: only this machine is let in (${KEYS} sets keys)`
          : `  ${keys.length === 1 ? 'a key is' : `one of ${keys.length} keys is`} asked for in X-Session-API-Key`,
      ])
      await stopped
    } finally {
      await server.close()
    }
    await lines.written()
    return 0
  })
}

/** @throws UsageError for a variable that is set and names no key: nobody wants to have been let in without. */
function keysOf({ env }: Io): string[] {
  const text = env[KEYS]
  if (text === undefined) return []
  const keys = text
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '')
  if (keys.length === 0) throw new UsageError(`${KEYS} is set and holds no key: unset it, or set keys`)
  return keys
}

/** Lines of JSON on standard error, in order; nobody waits for them, and when nobody reads them any more they are left out. */
function logOn({ stderr }: Io): { write: (line: object) => void; written: () => Promise<void> } {
  let last: Promise<void> = Promise.resolve()
  return {
    write: (line) => {
      last = last.then(() => stderr.write(`${JSON.stringify(line)}\n`)).catch(() => undefined)
    },
    written: () => last,
  }
}
