/** The LangGraph example survives a kill at every step. */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { project, ROOT } from '../pages.ts'

const { folder, write, remove } = project()
const file = write('langgraph.ts', readFileSync(join(ROOT, 'examples/langgraph.ts'), 'utf8'))
/** Kills the process when it prints the line that the environment names. */
const KILLER = write(
  'killer.mjs',
  `const { log } = console
console.log = (line) => {
  log(line)
  if (line === process.env.KILL_AT) process.kill(process.pid, 'SIGKILL')
}`,
)

afterAll(remove)

function start(database: string, killAt = ''): { signal: string | null; last: string | undefined } {
  const { signal, stdout } = spawnSync(process.execPath, ['--import', KILLER, file], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, FILE: database, KILL_AT: killAt },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { signal, last: stdout.trim().split('\n').at(-1) }
}

it('ends as without a kill when each of its steps is killed', () => {
  const database = join(folder, 'graph.db')
  for (const step of ['step 1', 'step 2', 'step 3', 'step 4'])
    expect(start(database, step)).toEqual({ signal: 'SIGKILL', last: step })
  expect(start(database)).toEqual({ signal: null, last: 'asked, did 1, did 2, did 3, did 4' })
})
