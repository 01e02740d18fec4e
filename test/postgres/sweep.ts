/** Cleans up after runs whose keeper was killed: ends leftover processes and removes their folders. */

import { readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const FOLDER_PREFIX = 'colloquy-postgres-'

/** Removes every test server folder without a keeper. Never throws. O(folders + processes). */
export async function sweep(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => [])
  const folders = names.filter((name) => name.startsWith(FOLDER_PREFIX)).map((name) => join(tmpdir(), name))
  if (folders.length === 0) return
  const commands = await runningCommands()
  // Without a process list, stale folders cannot be distinguished from active ones.
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

/** Command lines of all processes, or null without /proc. */
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
    // It has ended, or belongs to another user.
  }
}
