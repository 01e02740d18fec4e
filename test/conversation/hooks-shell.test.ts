/** Command hooks with real processes: each command has one outcome, and no process or listener remains. */

import { execFile } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import type { HookInput } from '../../src/conversation/run/hooks.ts'
import { shellHook, type ShellHookOptions } from '../../src/conversation/shell/shell-hook.ts'

const INPUT: HookInput = {
  event_type: 'UserPromptSubmit',
  conversation_id: 'c',
  message: 'hello',
  message_id: 'm',
}
const folder = mkdtempSync(join(tmpdir(), 'colloquy-hooks-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Command = ShellHookOptions['command']
type More = Partial<ShellHookOptions> & { readonly input?: HookInput; readonly signal?: AbortSignal }

async function run(command: Command, { input = INPUT, signal, ...more }: More = {}) {
  const hook = shellHook({ on: 'UserPromptSubmit', command, ...more })
  return (await hook.run(input, signal ?? new AbortController().signal)) ?? {}
}

const script = (code: string): Command => [process.execPath, '-e', code]

/** A zombie counts as gone: a slow init may not have reaped it. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return (
      process.platform !== 'linux' || !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
    )
  } catch {
    return false
  }
}

/** Waits until a process is gone, or the test times out. */
async function waitForExit(pid: number): Promise<void> {
  expect(pid).toBeGreaterThan(1)
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10))
}

// Resources that a hook could leak: process listeners, pipes and children.
const current = (): unknown => [
  process.listenerCount('exit'),
  process.getActiveResourcesInfo().filter((name) => /Pipe|Process/.test(name)).length,
]
let before: unknown
beforeEach(() => {
  before = current()
})
async function released(): Promise<void> {
  while (JSON.stringify(current()) !== JSON.stringify(before))
    await new Promise((then) => setTimeout(then, 10))
}
afterEach(released)

describe('exit codes', () => {
  it('0 is a success', async () => {
    expect(await run('echo out; echo err >&2')).toEqual({
      success: true,
      exitCode: 0,
      blocked: false,
      stdout: 'out\n',
      stderr: 'err\n',
    })
  })

  it('2 blocks, with the reason from JSON, standard error or standard output', async () => {
    const blocked = { success: false, exitCode: 2, blocked: true }
    expect(await run('echo out; echo why >&2; exit 2')).toMatchObject({ ...blocked, reason: 'why' })
    expect(await run('echo out; exit 2')).toMatchObject({ ...blocked, reason: 'out' })
    expect(await run('exit 2')).not.toHaveProperty('reason')
    expect(await run(`echo '{"reason":"json"}'; exit 2`)).toMatchObject({ ...blocked, reason: 'json' })
  })

  it.each([
    ['exit 1', 1, 'exit code 1'],
    ['exit 255', 255, 'exit code 255'],
    ['there-is-no-such-program', 127, 'exit code 127'],
    ['kill -9 $$', -9, 'SIGKILL'],
    [`echo '{"decision":"allow","additionalContext":"x"}'; exit 1`, 1, 'exit code 1'],
  ])('any other code is a failure that blocks nothing: %s', async (command, exitCode, error) => {
    const outcome = await run(command)
    expect(outcome).toMatchObject({ success: false, exitCode, error: expect.stringContaining(error) })
    expect(outcome.blocked ?? false).toBe(false)
    expect(outcome).not.toHaveProperty('additionalContext')
  })
})

const say = (value: unknown, more?: More) =>
  run(script(`console.log(${JSON.stringify(JSON.stringify(value))})`), more)

const specific = (output: unknown) => ({ hookSpecificOutput: output })

describe('JSON on standard output', () => {
  it('can block, with a reason', async () => {
    for (const decision of ['block', 'deny', 'DENY']) {
      expect(await say({ decision, reason: 'no' })).toMatchObject({
        success: true,
        exitCode: 0,
        blocked: true,
        reason: 'no',
      })
    }
    expect(await say({ decision: 'allow', reason: 'fine' })).toMatchObject({ blocked: false })
  })

  it.each(['exit 1', 'exit 2', 'exit 255', 'kill -9 $$'])('blocks with any exit: %s', async (exit) => {
    const output = { decision: 'deny', reason: 'no', additionalContext: 'x' }
    const outcome = await run(`echo '${JSON.stringify(output)}'; ${exit}`)
    expect(outcome).toMatchObject({ success: false, blocked: true, reason: 'no' })
    expect(outcome).not.toHaveProperty('error')
  })

  it.each<[object, string | null, Partial<More>?]>([
    [specific({ permissionDecision: 'deny', permissionDecisionReason: 'no' }), 'no'],
    [specific({ permissionDecision: 'ask', permissionDecisionReason: 'sure?' }), 'sure?'],
    [
      { ...specific({ permissionDecision: 'deny', permissionDecisionReason: 'no' }), decision: 'approve' },
      'no',
    ],
    [{ ...specific({ permissionDecision: 'allow' }), decision: 'block', reason: 'no' }, 'no'],
    [{ continue: false, stopReason: 'closed' }, 'closed'],
    [{ continue: false, stopReason: 'closed' }, null, { on: 'Stop' }],
    [{ continue: true, stopReason: 'closed' }, null],
    [specific({ permissionDecision: 'allow', permissionDecisionReason: 'fine' }), null],
    [specific({ permissionDecision: 'defer' }), null],
    [specific('deny'), null],
    [specific([{ permissionDecision: 'deny' }]), null],
    [{ hookSpecificOutput: null, decision: 'approve' }, null],
  ])('of Claude Code: %j blocks with the reason %j', async (value, reason, more = {}) => {
    const outcome = await say(value, more)
    expect(outcome).toMatchObject({ success: true, exitCode: 0, blocked: reason !== null })
    expect(outcome.reason ?? null).toBe(reason)
  })

  it('can add context for the model', async () => {
    expect(await say(specific({ additionalContext: 'be kind' }))).toMatchObject({
      blocked: false,
      additionalContext: 'be kind',
    })
    expect(await say({ additionalContext: 'be kind' })).toMatchObject({
      blocked: false,
      additionalContext: 'be kind',
    })
  })

  it.each([
    [[{ decision: 'block' }]],
    ['block'],
    [null],
    [{ decision: true }],
    [{ decision: { block: true } }],
    [{ reason: 7 }],
  ])('is plain text if it has another form: %j', async (value) => {
    expect(await say(value)).toEqual({
      success: true,
      exitCode: 0,
      blocked: false,
      stdout: `${JSON.stringify(value)}\n`,
      stderr: '',
    })
  })

  it('is plain text if it is malformed', async () => {
    expect(await run(`echo '{"decision":"block"'`)).toMatchObject({ success: true, blocked: false })
  })
})

describe('standard input', () => {
  it('is the input as one line of JSON', async () => {
    const input = { ...INPUT, message: 'a\nb \uD800 😀 \0' }
    const { stdout = '' } = await run('cat', { input })
    expect(stdout.endsWith('\n')).toBe(true)
    expect(stdout.trimEnd()).not.toContain('\n')
    expect(JSON.parse(stdout)).toEqual(input)
  })

  const input = { ...INPUT, message: 'x'.repeat(5_000_000) }

  it('contains all of an input of 5 MB', async () => {
    const { stdout } = await run('wc -c', { input })
    expect(Number(stdout)).toBe(JSON.stringify(input).length + 1)
  })

  it.each([['exit 0'], ['exec <&-; sleep 0.1; exit 0'], ['head -c 10 >/dev/null']])(
    'does not have to be read: %s',
    async (command) => {
      expect(await run(command, { input })).toMatchObject({ success: true, exitCode: 0, stdout: '' })
    },
  )
})

describe('output', () => {
  it('has replacement characters for invalid UTF-8', async () => {
    const { stdout, stderr } = await run(String.raw`printf 'a\377b'; printf '\360\237' >&2`)
    expect([stdout, stderr]).toEqual(['a\uFFFDb', '\uFFFD'])
  })

  it('is cut at 49,000 characters, and ends with its full size', async () => {
    const megabytes = 'head -c 30000000 /dev/zero | tr "\\0" x'
    const outcome = await run(`(${megabytes}); (${megabytes}) >&2; exit 2`)
    for (const text of [outcome.stdout, outcome.stderr, outcome.reason]) {
      expect(text).toMatch(/^x{49000}… \(30000000 bytes in all\)$/)
    }
  })

  it('is complete below the limit, and never cut inside a character', async () => {
    const { stdout } = await run(script(`process.stdout.write('é'.repeat(60_000))`))
    expect(stdout).toBe('é'.repeat(60_000))
    const { stdout: cut } = await run(script(`process.stdout.write('x' + '😀'.repeat(100_000))`))
    expect(cut?.isWellFormed()).toBe(true)
    expect(cut).not.toContain('\uFFFD')
  })
})

describe('a background process of a command', () => {
  it.each([
    ['sleep 600 & echo $!'],
    ['sleep 600 >/dev/null 2>&1 & echo $!'],
    ['(trap "" TERM HUP; sleep 600) & echo $!'],
  ])('is killed when the command has ended: %s', async (command) => {
    const { success, stdout } = await run(command)
    expect(success).toBe(true)
    await waitForExit(Number(stdout))
  })

  it('is not awaited once it has left the process group, and the output is complete', async () => {
    const code = `const c = require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: 'inherit' })
      process.stdout.write(c.pid + ' ' + 'y'.repeat(100_000), () => c.unref())`
    const { success, stdout = '' } = await run(script(code))
    const pid = Number.parseInt(stdout, 10)
    await released()
    process.kill(pid, 'SIGKILL')
    expect(success).toBe(true)
    expect(stdout.length).toBe(`${pid} `.length + 100_000)
    await waitForExit(pid)
  })

  it('is killed when this process exits', async () => {
    const shell = join(inject('built'), 'conversation/shell/shell-hook.js')
    const file = join(folder, 'exits.mjs')
    writeFileSync(
      file,
      `import { shellHook } from ${JSON.stringify(shell)}
       import { existsSync, readFileSync } from 'node:fs'
       const out = ${JSON.stringify(join(folder, 'pid'))}
       const hook = shellHook({ on: 'Stop', command: 'sleep 600 & echo $! > ' + out + '.tmp && mv ' + out + '.tmp ' + out + '; wait' })
       void hook.run({ event_type: 'Stop', conversation_id: 'c' }, new AbortController().signal)
       setInterval(() => { if (existsSync(out)) { console.log(readFileSync(out, 'utf8')); process.exit(0) } }, 5)`,
    )
    const { stdout } = await promisify(execFile)(process.execPath, [file])
    await waitForExit(Number(stdout))
  })
})

describe('a timeout', () => {
  it.each([
    ['sleep 600 & echo $!; wait'],
    ['trap "" TERM; sleep 600 & echo $!; wait; sleep 600'],
    // Output after the signal is ignored.
    ['trap "exit 2" TERM; sleep 600 & echo $!; wait'],
    [`trap 'echo "{\\"decision\\":\\"block\\"}"; exit 0' TERM; sleep 600 & echo $!; wait`],
  ])('kills the process group and is a failure: %s', async (command) => {
    let pid = Number.NaN
    // A busy machine may have printed nothing yet: retry with more time.
    for (let timeout = 300; Number.isNaN(pid); timeout *= 2) {
      const outcome = await run(command, { timeout })
      expect(outcome).toMatchObject({
        success: false,
        exitCode: -1,
        error: expect.stringContaining(`timeout of ${timeout} ms`),
      })
      expect(outcome.blocked ?? false).toBe(false)
      pid = Number.parseInt(outcome.stdout ?? '', 10)
    }
    await waitForExit(pid)
  })

  it('can be infinite, or longer than a timer supports', async () => {
    expect(await run('sleep 0.1; exit 0', { timeout: Infinity })).toMatchObject({ success: true })
    expect(await run('sleep 0.1; exit 0', { timeout: 2 ** 40 })).toMatchObject({ success: true })
  })
})

describe('an interrupt', () => {
  it('prevents the start of a command if it comes first', async () => {
    const file = join(folder, 'started')
    const outcome = await run(`touch ${file}`, { signal: AbortSignal.abort() })
    expect(outcome).toMatchObject({ success: false, error: expect.stringContaining('interrupted') })
    expect((await run(`test -e ${file}`)).exitCode).toBe(1)
  })

  it('kills the process group and leaves no listener', async () => {
    const interrupt = new AbortController()
    const outcome = run('sleep 600 & echo $!; wait', { signal: interrupt.signal })
    setTimeout(() => interrupt.abort(), 200)
    expect(await outcome).toMatchObject({
      success: false,
      exitCode: -1,
      error: expect.stringContaining('interrupted'),
    })
    const { stdout = '' } = await outcome
    if (stdout !== '') await waitForExit(Number(stdout))
    expect(getEventListeners(interrupt.signal, 'abort')).toHaveLength(0)
  })

  it('leaves no listener if it never comes', async () => {
    const { signal } = new AbortController()
    await Promise.all(Array.from({ length: 20 }, () => run('true', { signal })))
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })
})
