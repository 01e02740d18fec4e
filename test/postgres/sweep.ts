/** Clears away the servers of runs whose keeper was killed: finds their folders, ends what still runs there, removes them. */

import { readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** How the folders of test servers begin. */
export const FOLDER_PREFIX = 'colloquy-postgres-'

/** Removes every folder of a test server that nobody keeps any more. Never throws. O(folders + processes). */
export async function sweep(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => [])
  const folders = names.filter((name) => name.startsWith(FOLDER_PREFIX)).map((name) => join(tmpdir(), name))
  if (folders.length === 0) return
  const commands = await runningCommands()
  // Without a list of processes nobody can tell a stale folder from one in use.
  if (commands === null) return
  for (const folder of folders) {
    const users = commands.filter(({ text }) => text.includes(folder))
    if (users.some(({ text }) => text.includes('keeper.ts'))) continue
    for (const { pid } of users) end(pid)
    await rm(folder, { recursive: true, force: true }).catch(() => undefined)
  }
}

interface Command {
  readonly pid: number
  readonly text: string
}

/** The command lines of all processes, or null where the system does not list them in /proc. */
async function runningCommands(): Promise<readonly Command[] | null> {
  const names = await readdir('/proc').catch(() => null)
  if (names === null) return null
  const pids = names.map(Number).filter((pid) => Number.isInteger(pid) && pid !== process.pid)
  return Promise.all(
    pids.map(async (pid) => ({
      pid,
      text: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
    })),
  )
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself, or belongs to somebody else.
  }
}
