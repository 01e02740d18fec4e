import childProcess, { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest'
import {
  NO_STATE,
  type SandboxProvider,
  type SandboxState,
} from '../../src/service/control-plane/sandbox-provider.ts'
import { processSandboxes, type ProcessSandboxesOptions } from '../../src/service/node/process-sandboxes.ts'
import { Output } from '../../src/service/node/sandbox/group.ts'
import { Watchdog } from '../../src/service/node/sandbox/watchdog.ts'
import { costOf } from '../growth.ts'
import { childrenOf, folder, processesIn, server, until } from './sandbox-commands.ts'

let root: ReturnType<typeof folder>
let sandboxes: SandboxProvider
const children: ChildProcess[] = []

const begin = (options: Partial<ProcessSandboxesOptions>): SandboxProvider =>
  (sandboxes = processSandboxes({
    directory: root.path,
    healthInterval: 30,
    killTimeout: 300,
    ...options,
  }))

const sh = (script: string): readonly string[] => ['/bin/sh', '-c', script]

const reaches = (status: SandboxState['status'], id = 'a'): Promise<SandboxState> =>
  until(async () => {
    const state = await sandboxes.state(id, 's')
    return state?.status === status ? state : null
  })

/** D: waits for a child that was stopped before its exec. */
const areAllPaused = (): boolean => running().every((state) => state === 'T' || state === 'D')

const running = (): string[] => processesIn(root.path).map(({ state }) => state)

beforeEach(() => {
  root = folder()
})

afterEach(async () => {
  await sandboxes?.close()
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await until(() => processesIn(root.path).length === 0)
  root.remove()
})

describe('a sandbox', () => {
  it('runs its command in its own folder, without the environment of the service', async () => {
    process.env['COLLOQUY_SECRET_OF_THE_TEST'] = 'secret'
    begin({ specs: [{ id: 's', command: server(100), health: '/alive', initial_env: { GIVEN: 'yes' } }] })
    await sandboxes.start('a', 's')
    expect(await sandboxes.state('a', 's')).toMatchObject({
      status: 'STARTING',
      session_api_key: null,
      exposed_urls: null,
    })
    const { exposed_urls: urls, session_api_key: key, working_dir: dir } = await reaches('RUNNING')
    expect(urls?.map(({ name }) => name)).toEqual(['AGENT_SERVER'])
    const report = (await (await fetch(`${urls?.[0]?.url}/`)).json()) as {
      key: string
      cwd: string
      env: string[]
    }
    expect(report).toMatchObject({ key, cwd: dir })
    expect(dir?.startsWith(join(root.path, 'a'))).toBe(true)
    expect(report.env).toContain('GIVEN')
    expect(report.env).not.toContain('COLLOQUY_SECRET_OF_THE_TEST')
    delete process.env['COLLOQUY_SECRET_OF_THE_TEST']
  })

  it('pauses and resumes with all its processes', async () => {
    begin({ specs: [{ id: 's', command: sh('sleep 1000 & while :; do sleep 0.01; echo x >> ticks; done') }] })
    await sandboxes.start('a', 's')
    const ticks = join(root.path, 'a/workspace/ticks')
    await until(() => existsSync(ticks))
    await sandboxes.pause('a')
    await until(areAllPaused)
    expect((await sandboxes.state('a', 's'))?.status).toBe('PAUSED')
    const current = statSync(ticks).size
    const pids = processesIn(root.path).map(({ pid }) => pid)
    await sandboxes.pause('a')
    await sandboxes.resume('a', 's')
    await sandboxes.resume('a', 's')
    await until(() => statSync(ticks).size > current)
    expect((await sandboxes.state('a', 's'))?.status).toBe('RUNNING')
    expect(processesIn(root.path).some(({ pid }) => pids.includes(pid))).toBe(true)
  })

  it.runIf(process.platform === 'linux')(
    'pauses and resumes processes that left its process group',
    async () => {
      begin({ specs: [{ id: 's', command: sh('setsid sleep 1000 & sleep 1000') }] })
      await sandboxes.start('a', 's')
      await until(() => running().length >= 3)
      await sandboxes.pause('a')
      await until(areAllPaused)
      await sandboxes.resume('a', 's')
      await until(() => running().length >= 3 && running().every((state) => state === 'S'))
    },
  )

  it('pauses and ends the commands that run in its folder', async () => {
    begin({ givesFiles: true, specs: [{ id: 's', command: null }] })
    const workspace = join(root.path, 'a/workspace')
    const ticks = join(workspace, 'ticks')
    const script = 'sleep 1000 & while :; do sleep 0.01; echo x >> ticks; done'
    for (const end of [() => sandboxes.delete('a'), () => sandboxes.close()]) {
      await sandboxes.start('a', 's')
      const output = sandboxes.files?.run(script, workspace, 600_000)
      await until(() => existsSync(ticks))
      await sandboxes.pause('a')
      await until(areAllPaused)
      const current = statSync(ticks).size
      await sandboxes.resume('a', 's')
      await until(() => statSync(ticks).size > current)
      await sandboxes.pause('a')
      await end()
      expect(await output).toMatchObject({ exit_code: -1 })
      expect(running()).toEqual([])
    }
    await expect(sandboxes.files?.run('true', workspace, 1_000)).rejects.toMatchObject({ status: 503 })
  })

  it('is not paused or ended with another one whose id is a prefix of its own', async () => {
    begin({ specs: [{ id: 's', command: sh('while :; do sleep 0.01; echo x >> ticks; done') }] })
    await sandboxes.start('a', 's')
    await sandboxes.start('ab', 's')
    const ticks = join(root.path, 'ab/workspace/ticks')
    await until(() => existsSync(ticks))
    await sandboxes.pause('a')
    const before = statSync(ticks).size
    await until(() => statSync(ticks).size > before)
    await sandboxes.delete('a')
    const after = statSync(ticks).size
    await until(() => statSync(ticks).size > after)
    expect((await sandboxes.state('ab', 's'))?.status).toBe('RUNNING')
  })

  it('starts no process when a resume meets its deletion or the closing of the provider', async () => {
    begin({ specs: [{ id: 's', command: sh('exec sleep 1000') }] })
    const failing = ['a', 'b'].map(async (id) => {
      await sandboxes.start(id, 's')
      process.kill(processesIn(join(root.path, id))[0]?.pid ?? -1, 'SIGKILL')
      await reaches('ERROR', id)
    })
    await Promise.all(failing)
    await Promise.all([sandboxes.resume('a', 's'), sandboxes.delete('a'), sandboxes.resume('b', 's')])
    await Promise.all([sandboxes.resume('b', 's'), sandboxes.close()])
    expect(running()).toEqual([])
    await expect(sandboxes.start('c', 's')).rejects.toThrow(/closed/)
  })

  it('adds no exit listener to the process of the service', async () => {
    const before = process.listenerCount('exit')
    begin({})
    for (let round = 0; round < 3; round += 1) {
      await sandboxes.start('a', 'workspace')
      await sandboxes.delete('a')
    }
    expect(process.listenerCount('exit')).toBe(before)
  })

  it('does not run its command when the watchdog cannot start', async () => {
    begin({ givesFiles: true, specs: [{ id: 's', command: sh('echo ran > ran; sleep 1000') }] })
    const { spawn: real } = childProcess
    childProcess.spawn = ((command: string, args: readonly string[], options: object) =>
      real(args.includes('colloquy-watchdog') ? '/nowhere' : command, args, options)) as typeof real
    syncBuiltinESMExports()
    try {
      await Promise.all([sandboxes.start('a', 's'), sandboxes.start('b', 's')])
      for (const id of ['a', 'b'])
        expect((await reaches('ERROR', id)).status_detail).toMatch(
          /^The sandbox could not be started: The watchdog .*ENOENT/,
        )
      const run = sandboxes.files?.run('echo ran > ran; sleep 1000', join(root.path, 'a/workspace'), 60_000)
      await expect(run).rejects.toThrow()
      // A group that is added while the start fails is not watched either.
      const watchdog = new Watchdog()
      const added = await Promise.allSettled([watchdog.add(2 ** 30), watchdog.add(2 ** 30 + 1)])
      expect(added.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
      await until(() => running().length === 0)
      expect(existsSync(join(root.path, 'a/workspace/ran'))).toBe(false)
    } finally {
      childProcess.spawn = real
      syncBuiltinESMExports()
    }
    await sandboxes.resume('a', 's')
    await until(() => existsSync(join(root.path, 'a/workspace/ran')))
  })

  it('gets SIGTERM and time to end when the provider closes during a pause', async () => {
    begin({
      killTimeout: 10_000,
      specs: [
        {
          id: 's',
          command: sh(`trap 'echo bye > bye; exit 0' TERM; touch ready; while :; do sleep 0.01; done`),
        },
      ],
    })
    await sandboxes.start('a', 's')
    await until(() => existsSync(join(root.path, 'a/workspace/ready')))
    await sandboxes.pause('a')
    await sandboxes.close()
    expect(existsSync(join(root.path, 'a/workspace/bye'))).toBe(true)
    expect(running()).toEqual([])
  })

  it.each([
    ['a missing program', ['no-such-program-of-mine'], /code 127.*no-such-program-of-mine/s],
    ['a command that fails', sh('echo the disk is on fire >&2; exit 3'), /code 3\..*the disk is on fire/s],
    ['a command that is killed', sh('kill -9 $$'), /ended by SIGKILL/],
  ])('reports the failure of %s', async (_, command, detail) => {
    begin({ specs: [{ id: 's', command }] })
    await sandboxes.start('a', 's')
    expect((await reaches('ERROR')).status_detail).toMatch(detail)
    expect(running()).toEqual([])
  })

  it('fails and ends when it does not serve its health path in time', async () => {
    let detail: string | null = null
    let startTimeout = 75
    do {
      // A busy machine needs longer until the first output.
      startTimeout *= 2
      await sandboxes?.close()
      begin({
        startTimeout,
        specs: [{ id: 's', command: sh('echo waiting; sleep 1000'), health: '/alive' }],
      })
      await sandboxes.start(`a${startTimeout}`, 's')
      ;({ status_detail: detail } = await reaches('ERROR', `a${startTimeout}`))
    } while (detail?.includes('waiting') !== true && startTimeout < 60_000)
    expect(detail).toMatch(
      /did not serve \/alive within \d+ ms: it cannot be reached \(ECONNREFUSED\).*waiting/s,
    )
    expect(detail).toContain(` ${startTimeout} ms`)
    await until(() => running().length === 0)
  })

  it('fails when its health path returns 500, and a resume starts it again', async () => {
    begin({ specs: [{ id: 's', command: server(), health: '/alive' }] })
    await sandboxes.start('a', 's')
    const { exposed_urls: urls } = await reaches('RUNNING')
    await fetch(`${urls?.[0]?.url}/sick`)
    expect((await reaches('ERROR')).status_detail).toMatch(/no longer serves .*: it responds with 500/)
    await sandboxes.resume('a', 's')
    await reaches('RUNNING')
    expect(running()).toHaveLength(1)
  })

  it('leaves no process when its command ends, also outside its process group', async () => {
    const command = sh('mkfifo end; env -i sleep 1000 & setsid sleep 1000 & read line < end')
    begin({ specs: [{ id: 's', command }] })
    await sandboxes.start('a', 's')
    await until(() => running().length >= 3)
    await writeFile(join(root.path, 'a/workspace/end'), 'now\n')
    await reaches('ERROR')
    await until(() => running().length === 0)
  })

  it('keeps the latest output up to a maximum length', async () => {
    const output = new Output(10_000)
    const stream = Readable.from(Array.from({ length: 5_000 }, (_, index) => `line ${index + 1}\n`))
    output.append(stream)
    await once(stream, 'end')
    const stored = output.text
    expect(stored).toContain('line 5000\n')
    expect(stored.length).toBeLessThanOrEqual(10_000)
    expect(stored.length).toBeGreaterThan(4_000)
    expect(stored).toContain('line 4900\nline 4901\n')
  })

  it('loses its files when it is deleted, and keeps them when the provider closes', async () => {
    begin({ specs: [{ id: 's', command: sh('echo kept > file; sleep 1000') }] })
    const file = (id: string): string => join(root.path, id, 'workspace/file')
    for (const id of ['a', 'b']) {
      await sandboxes.start(id, 's')
      await until(() => existsSync(file(id)))
    }
    await sandboxes.delete('a')
    expect([existsSync(join(root.path, 'a')), await sandboxes.state('a', 's')]).toEqual([false, null])
    await sandboxes.close()
    expect(running()).toEqual([])
    begin({ specs: [{ id: 's', command: sh('cat file > again; sleep 1000') }] })
    expect((await sandboxes.state('b', 's'))?.status).toBe('PAUSED')
    await sandboxes.resume('b', 's')
    await until(() => existsSync(join(root.path, 'b/workspace/again')))
    await sandboxes.delete('b')
    expect(existsSync(join(root.path, 'b'))).toBe(false)
  })

  it('is deleted although other providers start and delete it at the same time', async () => {
    const specs = [{ id: 's', command: null }]
    const begun = [0, 1, 2].map(() => begin({ specs }))
    const [first, second, third] = begun as [SandboxProvider, SandboxProvider, SandboxProvider]
    for (let round = 0; round < 100; round += 1)
      await Promise.all([first.start('a', 's'), second.delete('a'), third.delete('a'), third.start('a', 's')])
    await Promise.all(begun.map((each) => each.delete('a')))
    expect(existsSync(join(root.path, 'a'))).toBe(false)
    await Promise.all(begun.map((each) => each.close()))
  })

  it('rejects commands, uploads and downloads after the provider ended, until it is resumed', async () => {
    const options = { givesFiles: true, specs: [{ id: 's', command: sh('sleep 1000') }] }
    begin(options)
    await sandboxes.start('a', 's')
    const workspace = join(root.path, 'a/workspace')
    await until(() => existsSync(workspace))
    const file = join(workspace, 'file')
    await sandboxes.files?.write(file, new Uint8Array())
    const attempts = () =>
      Promise.allSettled([
        sandboxes.files?.write(file, new Uint8Array()),
        sandboxes.files?.read(file, 100),
        sandboxes.files?.run('true', workspace, 10_000),
      ])
    expect((await attempts()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
    await sandboxes.close()
    begin(options)
    expect((await sandboxes.state('a', 's'))?.status).toBe('PAUSED')
    const refused = { status: 'rejected', reason: { status: 409 } }
    expect(await attempts()).toMatchObject([refused, refused, refused])
    await sandboxes.resume('a', 's')
    expect((await attempts()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
    await sandboxes.close()
    // The spec no longer has a command.
    begin({ givesFiles: true, specs: [{ id: 's', command: null }] })
    expect((await sandboxes.state('a', 's'))?.status).toBe('PAUSED')
    await sandboxes.resume('a', 's')
    await sandboxes.close()
    begin({ givesFiles: true, specs: [{ id: 's', command: null }] })
    expect((await sandboxes.state('a', 's'))?.status).toBe('RUNNING')
    expect((await attempts()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled'])
  })

  it.each([
    [
      'was never written',
      (directory: string) => mkdirSync(join(directory, 'workspace'), { recursive: true }),
    ],
    [
      'was deleted',
      async (directory: string) => {
        await sandboxes.start('a', 's')
        rmSync(join(directory, 'sandbox.json'))
      },
    ],
    [
      'cannot be written',
      async (directory: string) => {
        mkdirSync(join(directory, 'sandbox.json'), { recursive: true })
        await sandboxes.start('a', 's')
      },
    ],
  ])('runs until it is paused if it has no process and its state file %s', async (_, prepare) => {
    const options = { givesFiles: true, specs: [{ id: 's', command: null }] }
    begin(options)
    const directory = join(root.path, 'a')
    const workspace = join(directory, 'workspace')
    await prepare(directory)
    const running = { ...NO_STATE, status: 'RUNNING', working_dir: workspace }
    const execute = () => sandboxes.files?.run('true', workspace, 10_000)
    expect(await sandboxes.state('a', 's')).toEqual(running)
    expect(await execute()).toMatchObject({ exit_code: 0 })
    await sandboxes.pause('a')
    const paused = { ...NO_STATE, status: 'PAUSED', working_dir: workspace }
    expect(await sandboxes.state('a', 's')).toEqual(paused)
    await expect(execute()).rejects.toMatchObject({ status: 409 })
    await sandboxes.close()
    begin(options)
    const isStored = statSync(join(directory, 'sandbox.json')).isFile()
    expect(await sandboxes.state('a', 's')).toEqual(isStored ? paused : running)
    await sandboxes.resume('a', 's')
    expect(await sandboxes.state('a', 's')).toEqual(running)
    expect(await execute()).toMatchObject({ exit_code: 0 })
  })

  it('has its working directory in the new folder after the sandboxes are moved', async () => {
    const specs = [
      { id: 'folder', command: null },
      { id: 'process', command: sh('sleep 1000'), working_dir: 'deep/er' },
    ]
    const before = join(root.path, 'before')
    const after = join(root.path, 'after')
    begin({ specs, directory: before })
    await sandboxes.start('a', 'folder')
    await sandboxes.start('b', 'process')
    await sandboxes.close()
    renameSync(before, after)
    begin({ specs, directory: after })
    expect(await sandboxes.state('a', 'folder')).toMatchObject({
      status: 'RUNNING',
      working_dir: join(after, 'a/workspace'),
    })
    expect(await sandboxes.state('b', 'process')).toMatchObject({
      status: 'PAUSED',
      working_dir: join(after, 'b/deep/er'),
    })
  })

  it('cannot have an id that leads out of the folder', async () => {
    begin({})
    await expect(sandboxes.start('../a', 'workspace')).rejects.toThrow()
    expect(await sandboxes.state('..', 's')).toBeNull()
    await sandboxes.delete('../..')
    expect(existsSync(root.path)).toBe(true)
  })

  it.each([[[]], [[{ id: 'a', command: [] }]], [[{ id: 'a', command: null, working_dir: '../x' }]]])(
    'cannot have the specs %j',
    (specs) => {
      expect(() => processSandboxes({ directory: root.path, specs })).toThrow(/spec/)
    },
  )
})

describe('the end of the service', () => {
  const script = `
import { existsSync } from 'node:fs'
import { processSandboxes } from '${join(inject('built'), 'service/node/index.js')}'
const sandboxes = processSandboxes({ directory: process.argv[1], givesFiles: true, specs: [{ id: 's', command: ['/bin/sh', '-c', 'setsid sleep 1000 & env -i sleep 1000 & sleep 1000'] }] })
await sandboxes.start('a', 's')
await sandboxes.start('b', 's')
const folders = ['a', 'b'].map((id) => process.argv[1] + '/' + id + '/workspace')
for (const one of folders) void sandboxes.files.run('touch begun; sleep 1000 & sleep 1000', one, 600_000)
while (!folders.every((one) => existsSync(one + '/begun'))) await new Promise((resolve) => setTimeout(resolve, 5))
await sandboxes.pause('b')
console.log('up')
process.stdin.once('data', () => process.exit(0))
`
  it.each([['SIGKILL'], ['SIGTERM'], ['SIGINT'], ['exit']] as const)(
    'by %s leaves no process of a sandbox',
    async (how) => {
      const child = spawn(process.execPath, ['--input-type=module', '-e', script, root.path, how], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      children.push(child)
      await new Promise((resolve) => child.stdout.once('data', resolve))
      await until(() => running().length >= 8)
      const statuses = async () => [await sandboxes.state('a', 's'), await sandboxes.state('b', 's')]
      begin({ specs: [{ id: 's', command: sh('sleep 1000') }] })
      // Another process runs the sandbox and reports its state.
      await sandboxes.start('a', 's')
      await sandboxes.pause('a')
      expect(await statuses()).toMatchObject([
        { status: 'RUNNING' },
        { status: 'PAUSED', status_detail: null },
      ])
      if (how === 'exit') child.stdin.write('now')
      else child.kill(how)
      await until(() => child.exitCode !== null || child.signalCode !== null)
      await until(() => running().length === 0)
      const ended = { status: 'PAUSED', status_detail: expect.stringContaining('ended with the service') }
      expect(await statuses()).toMatchObject([ended, ended])
      await sandboxes.start('a', 's')
      expect((await statuses())[0]?.status).toBe('RUNNING')
      expect(running().length).toBeGreaterThan(0)
    },
  )

  it('leaves no process of a sandbox although the first watchdog was killed', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script, root.path, 'stay'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    children.push(child)
    await new Promise((resolve) => child.stdout.once('data', resolve))
    const watchdogs = (): number[] => childrenOf(child.pid ?? 0, 'colloquy-watchdog')
    const [first] = await until(() => (watchdogs().length > 0 ? watchdogs() : null))
    process.kill(first as number, 'SIGKILL')
    await until(() => watchdogs().some((pid) => pid !== first))
    child.kill('SIGKILL')
    await until(() => running().length === 0)
  })
})

describe('command output', () => {
  it('is kept up to a limit, at a cost independent of the limit', () => {
    const stream = new PassThrough()
    const output = new Output(2 ** 22)
    output.append(stream)
    stream.emit('data', 'a'.repeat(2 ** 22))
    // Copying the text for each line would need more than 10 seconds.
    const cost = costOf(() => {
      for (let n = 0; n < 20_000; n += 1) stream.emit('data', `line ${n}\n`)
    })
    expect(cost).toBeLessThan(2_000)
    expect(output.text).toHaveLength(2 ** 22)
    expect(output.text.endsWith('\nline 19999\n')).toBe(true)
  })

  it('is empty with a limit of 0, and survives a broken pipe', () => {
    const stream = new PassThrough()
    const output = new Output(0)
    output.append(stream)
    stream.emit('data', 'line')
    stream.destroy(new Error('EIO'))
    expect(output.text).toBe('')
  })
})
