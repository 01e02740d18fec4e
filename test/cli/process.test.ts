/** The real command as a child process: streams, exit codes, pipes that close early. */

import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { colloquy, folder, lines, type Outcome, SAMPLE, said } from './world.ts'

const MAIN = resolve(import.meta.dirname, '../../src/cli/main.ts')

/** Runs the real command. `closeAfter`: close its output after so many bytes. */
function start(
  argv: readonly string[],
  options: { stdin?: string; env?: Record<string, string>; closeAfter?: number } = {},
): Promise<Outcome> {
  const { stdin = '', env = {}, closeAfter = Infinity } = options
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [MAIN, ...argv], { env: { PATH: process.env['PATH'], ...env } })
    let out = ''
    let err = ''
    child.stdout.on('data', (chunk) => {
      out += chunk
      if (out.length >= closeAfter) child.stdout.destroy()
    })
    child.stderr.on('data', (chunk) => (err += chunk))
    child.stdin.on('error', () => {})
    child.stdin.end(stdin)
    child.on('error', fail)
    child.on('close', (code) => done({ code: code ?? -1, out, err }))
  })
}

describe('the process', { timeout: 60_000 }, () => {
  it('prints and exits as run() says', async () => {
    const commands = [
      ['replay', SAMPLE, '--json'],
      ['check', SAMPLE],
      ['frobnicate'],
      ['replay', 'none.jsonl', '--json'],
      ['demo'],
    ]
    const outcomes = await Promise.all(commands.map((argv) => start(argv)))
    for (const [index, argv] of commands.entries()) expect(outcomes[index]).toEqual(await colloquy(argv))
  })

  it('reads standard input', async () => {
    const log = lines(said('m', 'hi'))
    expect(await start(['tree', '-', '--json'], { stdin: log })).toEqual(
      await colloquy(['tree', '-', '--json'], { stdin: log }),
    )
  })

  it('heeds FORCE_COLOR and NO_COLOR', async () => {
    const envs = [{ FORCE_COLOR: '1' }, { FORCE_COLOR: '1', NO_COLOR: '1' }, {}]
    const outcomes = await Promise.all(envs.map((env) => start(['replay', SAMPLE], { env })))
    expect(outcomes.map(({ out }) => out.includes('\u001b['))).toEqual([true, false, false])
  })

  it('ends quietly when nobody reads on', async () => {
    const file = folder({
      'a.jsonl': lines(...Array.from({ length: 20_000 }, (_, i) => said(`m${i}`, 'hello '.repeat(10)))),
    })('a.jsonl')
    const commands = [
      ['tree', file],
      ['view', file, '--json'],
      ['messages', file, file, file],
    ]
    const outcomes = await Promise.all(commands.map((argv) => start(argv, { closeAfter: 1 })))
    for (const { code, out, err } of outcomes) {
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(out.length).toBeGreaterThan(0)
    }
  })

  it('answers a log of a hundred thousand events, piped in', async () => {
    const log = lines(...Array.from({ length: 100_000 }, (_, i) => ({ id: `p${i}`, kind: 'PauseEvent' })))
    const { code, out, err } = await start(['tree', '-', '--json'], { stdin: log })
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(JSON.parse(out)).toMatchObject({ roots: ['p0'], events: { length: 100_000 } })
  })
})
