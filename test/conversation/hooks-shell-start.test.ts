/** Command hooks: their accepted forms, and commands that fail to start. */

import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { shellHook, type ShellHookOptions } from '../../src/conversation/shell/shell-hook.ts'

const folder = mkdtempSync(join(tmpdir(), 'colloquy-hooks-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

type Command = ShellHookOptions['command']

async function run(command: Command, more: Partial<ShellHookOptions> = {}) {
  const hook = shellHook({ on: 'Stop', command, ...more })
  return (await hook.run({ event_type: 'Stop', conversation_id: 'c' }, new AbortController().signal)) ?? {}
}

describe('a command that cannot be started', () => {
  const file = join(folder, 'no-program')
  writeFileSync(file, 'text')
  chmodSync(file, 0o644)
  it.each<[string, Command, string]>([
    ['does not exist', ['there-is-no-such-program'], 'ENOENT'],
    ['is not executable', [file], 'EACCES'],
    ['contains a NUL', ['echo', 'a\0b'], 'null bytes'],
    ['is too long', ['echo', 'x'.repeat(10_000_000)], 'E2BIG'],
  ])('fails because it %s', async (_, command, error) => {
    expect(await run(command)).toMatchObject({
      success: false,
      exitCode: -1,
      stdout: '',
      error: expect.stringContaining(error),
    })
  })

  it('fails because its working directory does not exist', async () => {
    expect(await run('true', { cwd: join(folder, 'nowhere') })).toMatchObject({
      success: false,
      error: expect.stringContaining('nowhere'),
    })
  })

  it('fails because the process is out of file descriptors, and works afterwards', async () => {
    const shell = join(inject('built'), 'conversation/shell/shell-hook.js')
    const code = join(folder, 'full.mjs')
    writeFileSync(
      code,
      `import { shellHook } from ${JSON.stringify(shell)}
       import { closeSync, openSync } from 'node:fs'
       const hook = shellHook({ on: 'Stop', command: 'echo fine' })
       const run = () => hook.run({ event_type: 'Stop', conversation_id: 'c' }, new AbortController().signal)
       const open = []
       try { for (;;) open.push(openSync('/dev/null')) } catch {}
       const full = await run()
       for (const file of open) closeSync(file)
       console.log(JSON.stringify([full, await run()]))`,
    )
    const { stdout } = await promisify(execFile)('sh', [
      '-c',
      'ulimit -n 64; exec "$0" "$1"',
      process.execPath,
      code,
    ])
    const [full, then] = JSON.parse(stdout)
    expect(full).toMatchObject({
      success: false,
      exitCode: -1,
      error: expect.stringMatching(/EMFILE|EAGAIN|ENFILE/),
    })
    expect(then).toMatchObject({ success: true, stdout: 'fine\n' })
  })
})

describe('shellHook() options', () => {
  it('set the working directory and the environment', async () => {
    const shown = 'pwd; echo $HOOK_TEST; echo ${HOME-none}'
    const { stdout } = await run(shown, { cwd: folder, env: { HOOK_TEST: 'yes', HOME: undefined } })
    expect(stdout).toBe(`${folder}\nyes\nnone\n`)
  })

  it('use an argument list as a command without a shell, and quote it in the name', async () => {
    const hook = shellHook({ on: 'Stop', command: ['printf', '%s', "it's $HOME"] })
    expect(hook.name).toBe(String.raw`printf %s 'it'\''s $HOME'`)
    expect(await run(['printf', '%s', "it's $HOME"])).toMatchObject({ stdout: "it's $HOME" })
  })

  it('select tools by name or with a predicate', () => {
    const named = shellHook({ on: 'PreToolUse', command: 'true', tools: ['terminal'] })
    expect([named.tools?.('terminal'), named.tools?.('editor')]).toEqual([true, false])
    const tested = shellHook({ on: 'PreToolUse', command: 'true', tools: (name) => name !== 'terminal' })
    expect([tested.tools?.('terminal'), tested.tools?.('editor')]).toEqual([false, true])
    expect(shellHook({ on: 'PreToolUse', command: 'true' })).not.toHaveProperty('tools')
  })

  it.each<[string, object]>([
    ['on', { on: 'preToolUse' }],
    ['command', { command: ' ' }],
    ['command', { command: [] }],
    ['command', { command: ['echo', 1] }],
    ['command', { command: undefined }],
    ['timeout', { timeout: 0 }],
    ['timeout', { timeout: Number.NaN }],
    ['timeout', { timeout: '60' }],
  ])('are rejected when `%s` is invalid: %j', (field, wrong) => {
    const options = { on: 'Stop', command: 'true', ...wrong } as ShellHookOptions
    expect(() => shellHook(options)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', data: { field } }),
    )
  })
})
