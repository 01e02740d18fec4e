/** Process groups of sandboxes, on a system whose list of processes cannot be read. */

import { tmpdir } from 'node:os'
import { expect, it, vi } from 'vitest'
import { Group, Output } from '../../src/service/node/sandbox/group.ts'
import { Watchdog } from '../../src/service/node/sandbox/watchdog.ts'

vi.mock('node:fs/promises', async (load) => ({
  ...(await load<object>()),
  readdir: () => Promise.reject(new Error('EMFILE: too many open files')),
}))

it('a group that ignores SIGTERM is killed even if the processes cannot be listed', async () => {
  const watchdog = new Watchdog()
  const output = new Output(100)
  const command = ['/bin/sh', '-c', 'trap "" TERM; echo begun; exec sleep 60']
  const group = await Group.start(
    { command, cwd: tmpdir(), env: { PATH: '/usr/bin:/bin' } },
    watchdog,
    output,
    output,
  )
  await vi.waitFor(() => expect(output.text).toContain('begun'))
  await group.end(20)
  expect(await group.ended).toEqual({ code: null, signal: 'SIGKILL' })
  await watchdog.close()
})
