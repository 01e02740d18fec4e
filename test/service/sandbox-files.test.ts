import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { processSandboxes } from '../../src/service/node/process-sandboxes.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Answer, type Client, clientOver } from './client.ts'
import { folder, processesIn, until } from './sandbox-commands.ts'

let root: ReturnType<typeof folder>
let home: string
let client: Client

const begin = async (store: Store): Promise<void> => {
  const provider = processSandboxes({ directory: root.path, givesFiles: true })
  client = await clientOver(store, { keys: ['k'], controlPlane: { provider }, headers: KEY })
}

async function restart(): Promise<void> {
  await client.service.controlPlane.close()
  await client.engine.close()
  await begin(client.engine.store)
}

beforeEach(async () => {
  root = folder()
  home = join(realpathSync(root.path), 'a')
  mkdirSync(home)
  await begin(memoryStore())
})

afterEach(async () => {
  await client.service.controlPlane.close()
  await client.engine.close()
  root.remove()
})

const KEY = { 'x-session-api-key': 'k' } as const

const download = async (name: string): Promise<number> =>
  (await client.get('/api/file/download', { path: join(home, name) })).status

async function upload(name: string, text: string): Promise<number> {
  const body = new FormData()
  body.set('file', new File([text], 'x'))
  const path = `/api/file/upload?${new URLSearchParams({ path: join(home, name) })}`
  return (await client.send(path, { method: 'POST', body })).status
}

describe('file transfer', () => {
  it('rejects a pipe without a process at its other end, and blocks no other request', async () => {
    execFileSync('mkfifo', [join(home, 'pipe')])
    const many = Array.from({ length: 8 }, (_, nth) =>
      nth % 2 === 0 ? download('pipe') : upload('pipe', 'x'),
    )
    const result = await client.get('/api/conversations/search')
    expect([result.status, ...(await Promise.all(many))]).toEqual([200, ...many.map(() => 400)])
  })

  it('rejects a pipe that another process uses, and a socket', async () => {
    const pipe = join(home, 'pipe')
    execFileSync('mkfifo', [pipe])
    const reader = spawn('cat', [pipe])
    const writer = spawn('/bin/sh', ['-c', 'exec 3>"$0"; echo here; exec sleep 1000', pipe])
    await once(writer.stdout, 'data')
    expect([await upload('pipe', 'x'), await download('pipe')]).toEqual([400, 400])
    for (const child of [reader, writer]) child.kill('SIGKILL')
    const socket = createServer().listen(join(home, 'socket'))
    await once(socket, 'listening')
    expect([await upload('socket', 'x'), await download('socket')]).toEqual([400, 400])
    await new Promise((resolve) => socket.close(resolve))
  })

  it('creates, overwrites and reads a file; a folder gets 400 and a missing file 404', async () => {
    expect([await upload('deep/er/file', 'a longer text'), await upload('deep/er/file', 'text')]).toEqual([
      200, 200,
    ])
    expect(readFileSync(join(home, 'deep/er/file'), 'utf8')).toBe('text')
    expect([await download('deep/er/file'), await download('deep'), await download('none')]).toEqual([
      200, 400, 404,
    ])
    writeFileSync(join(home, 'file'), '')
    expect(await upload('file/x', 'x')).toBe(400)
  })
})

interface Output {
  readonly exit_code: number
  readonly stdout: string
  readonly stderr: string
}

const run = async (command: string, timeout = 300): Promise<Output> =>
  (await client.post<Output>('/api/bash/execute_bash_command', { command, cwd: home, timeout })).body

describe('a command', () => {
  it.runIf(process.platform === 'linux')(
    'ends with all its child processes in any process group',
    async () => {
      expect(await run('echo hi; sleep 1000 & setsid sleep 1000 & echo there >&2; exit 3')).toMatchObject({
        exit_code: 3,
        stdout: 'hi\n',
        stderr: 'there\n',
      })
      await until(() => processesIn(home).length === 0)
    },
  )

  it('returns at its end or its timeout although a child holds its output open', async () => {
    const before = performance.now()
    // A process without the environment is not recognized as the sandbox's.
    const remaining = 'echo $$; env -i setsid sleep 100 & sleep 0.2'
    expect(await run(remaining)).toMatchObject({ exit_code: 0, stdout: expect.stringMatching(/^\d+\n$/) })
    expect(await run(`${remaining}; sleep 1000`, 1)).toMatchObject({ exit_code: -1 })
    expect(performance.now() - before).toBeLessThan(60_000)
    for (const { pid } of processesIn(home)) process.kill(pid, 'SIGKILL')
  })

  it.each([
    ['its own trap', 'trap "rm lock; echo removed; exit 1" TERM; touch lock; sleep 1000 & wait', 'removed\n'],
    [
      'the trap of its child',
      '(trap "sleep 0.1; rm lock; exit" TERM; touch lock; sleep 1000 & wait) >log',
      '',
    ],
    ['a trap that does not exit', 'trap "rm lock" TERM; touch lock; while :; do sleep 0.1; done', ''],
  ])('runs %s when it times out or is stopped', async (_, command, stdout) => {
    expect(await run(command, 1)).toEqual(expect.objectContaining({ exit_code: -1, stdout }))
    expect(existsSync(join(home, 'lock'))).toBe(false)
    await until(() => processesIn(home).length === 0)
    const start = await client.post<{ id: string }>('/api/bash/start_bash_command', { command, cwd: home })
    await until(() => existsSync(join(home, 'lock')))
    // Deleting the events does not hide a running command.
    await client.send('/api/bash/bash_events', { method: 'DELETE' })
    const stop = `/api/bash/bash_commands/${start.body.id}/stop`
    expect((await client.post(stop, {})).status).toBe(200)
    const { items } = await until(async () => {
      const { body } = await page({})
      return body.items.length > 0 ? body : null
    })
    expect(items).toMatchObject([{ exit_code: -15, stdout }])
    expect(existsSync(join(home, 'lock'))).toBe(false)
  })

  it('returns its output to the last line', async () => {
    const { exit_code, stdout } = await run('i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo line $i; done')
    expect([exit_code, stdout.endsWith('line 19999\nline 20000\n'), stdout.split('\n').length]).toEqual([
      0,
      true,
      20_001,
    ])
  })
})

const git = (cwd: string, ...args: string[]) =>
  execFileSync(
    'git',
    ['-c', 'protocol.file.allow=always', '-c', 'user.name=n', '-c', 'user.email=e', ...args],
    {
      cwd,
      stdio: 'ignore',
    },
  )

const diff = async (path: string, query: Record<string, string> = {}): Promise<unknown> =>
  (await client.get<unknown>('/api/git/diff', { path, ...query })).body

const changes = async (path: string): Promise<unknown> =>
  (await client.get<unknown>('/api/git/changes', { path })).body

const added = (path: string) => ({ status: 'ADDED', path })

describe('git', () => {
  it('runs no filter that a folder or its submodule configures', async () => {
    const ran = join(root.path, 'ran')
    const sub = join(home, 'sub')
    mkdirSync(sub)
    for (const folder of [sub, home]) {
      git(folder, 'init', '-q')
      for (const [name, key] of [
        ['a=b.c', 'clean'],
        ['X', 'process'],
      ] as const) {
        git(folder, 'config', `filter.${name}.${key}`, `sh -c 'echo ran >> ${ran}; cat'`)
        git(folder, 'config', `filter.${name}.required`, 'true')
      }
      writeFileSync(join(folder, 'f'), 'one')
      writeFileSync(join(folder, 'g'), 'one')
      git(folder, 'add', '.')
      git(folder, 'commit', '-qm', 'one')
      writeFileSync(join(folder, '.gitattributes'), 'f filter=a=b.c\ng filter=X\n')
      writeFileSync(join(folder, 'f'), 'other')
      writeFileSync(join(folder, 'g'), 'other')
    }
    const { status, body } = await client.get<{ path: string }[]>('/api/git/changes', { path: home })
    expect([status, body.map(({ path }) => path)]).toEqual([200, ['.gitattributes', 'f', 'g']])
    expect(existsSync(ran)).toBe(false)
  })

  it('reads no repository or working tree outside the sandboxes', async () => {
    const outside = join(root.path, 'outside')
    mkdirSync(outside)
    git(outside, 'init', '-q')
    writeFileSync(join(outside, 'private'), 'one')
    git(outside, 'add', '.')
    git(outside, 'commit', '-qm', 'one')
    const [linked, moved] = [join(home, 'linked'), join(home, 'moved')]
    for (const folder of [linked, moved]) mkdirSync(folder)
    writeFileSync(join(linked, '.git'), `gitdir: ${join(outside, '.git')}\n`)
    git(moved, 'init', '-q')
    git(moved, 'config', 'core.worktree', outside)
    for (const path of [linked, moved]) {
      const { body } = await client.get<unknown>('/api/git/changes', { path })
      expect(JSON.stringify(body)).not.toContain('private')
    }
  })

  describe.each(['sha1', 'sha256'])('with %s', (hash) => {
    it('shows the changes before and in the first commit', async () => {
      const folder = join(home, `first-${hash}`)
      mkdirSync(folder)
      git(folder, 'init', '-q', `--object-format=${hash}`)
      writeFileSync(join(folder, 'staged'), 'one')
      git(folder, 'add', '.')
      writeFileSync(join(folder, 'untracked'), 'one')
      expect(await changes(folder)).toEqual([added('staged'), added('untracked')])
      git(folder, 'commit', '-qm', 'one')
      const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim()
      const { body } = await client.get<unknown>(`/api/git/commits/${commit}/changes`, { path: folder })
      expect(body).toEqual([added('staged')])
      const first = { modified: 'one', original: null }
      expect(await diff(join(folder, 'staged'), { commit })).toEqual(first)
    })

    it('shows a file whose folders were deleted', async () => {
      const folder = join(home, `deleted-${hash}`)
      const [kept, deleted] = [join(folder, 'kept'), join(folder, 'a/b/deleted')]
      mkdirSync(join(folder, 'a/b'), { recursive: true })
      git(folder, 'init', '-q', `--object-format=${hash}`)
      writeFileSync(kept, 'kept')
      writeFileSync(deleted, 'text')
      git(folder, 'add', '.')
      git(folder, 'commit', '-qm', 'one')
      const commit = execFileSync('git', ['rev-parse', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim()
      const both = [kept, deleted]
      expect(await Promise.all(both.map((path) => diff(path, { commit })))).toEqual([
        { modified: 'kept', original: null },
        { modified: 'text', original: null },
      ])
      rmSync(join(folder, 'a'), { recursive: true })
      expect(await changes(folder)).toEqual([{ status: 'DELETED', path: 'a/b/deleted' }])
      expect(await Promise.all(both.map((path) => diff(path)))).toEqual([
        { modified: 'kept', original: 'kept' },
        { modified: null, original: 'text' },
      ])
      expect(await diff(deleted, { commit })).toEqual({ modified: 'text', original: null })
      // A folder that never existed is still unknown.
      const { status } = await client.get<unknown>('/api/git/changes', { path: join(folder, 'x/y') })
      expect(status).toBe(404)
    })
  })
})

interface Page {
  readonly items: readonly { readonly id: string; readonly command?: string; readonly stdout?: string }[]
  readonly next_page_id: string | null
}

const page = (query: Record<string, string | number>): Promise<Answer<Page>> =>
  client.get<Page>('/api/bash/bash_events/search', query)

describe('the command history', () => {
  it.each(['TIMESTAMP', 'TIMESTAMP_DESC'])(
    'can be paged by %s, and rejects an invalid cursor',
    async (sort_order) => {
      for (const nth of [0, 1, 2]) await run(`echo ${nth}`)
      const all = (await page({ sort_order })).body.items
      const first = (await page({ sort_order, limit: 4 })).body
      const rest = (await page({ sort_order, limit: 4, page_id: first.next_page_id ?? '' })).body
      expect([[...first.items, ...rest.items], rest.next_page_id]).toEqual([all, null])
      const refused = { status: 422, body: { detail: [{ loc: ['query', 'page_id'], type: 'value_error' }] } }
      expect(await page({ sort_order, page_id: 'made-up' })).toMatchObject(refused)
      await client.send('/api/bash/bash_events', { method: 'DELETE' })
      await run('echo new')
      expect(await page({ sort_order, page_id: first.next_page_id ?? '' })).toMatchObject(refused)
    },
  )

  it('is split into pages by the size of its JSON', async () => {
    for (const _ of [0, 1, 2]) await run(`head -c 900000 /dev/zero | tr '\\0' '\\001'`)
    const { items, next_page_id } = (await page({})).body
    const rest = (await page({ page_id: next_page_id ?? '' })).body
    expect([items.length, rest.items.length, rest.next_page_id]).toEqual([4, 2, null])
  })
})

it.each([
  ['', false],
  [' after a restart of the service', true],
])('a paused sandbox rejects commands, uploads and downloads%s', async (_, restarts) => {
  const { body } = await client.post<{ id: string; status: string }>('/api/v1/sandboxes')
  if (restarts) await restart()
  const statusOf = async () =>
    (await client.get<{ status: string }[]>(`/api/v1/sandboxes?id=${body.id}`)).body[0]?.status
  expect(await statusOf()).toBe('RUNNING')
  const folderOf = join(realpathSync(root.path), body.id, 'workspace')
  const statuses = async (): Promise<number[]> => {
    const path = join('..', body.id, 'workspace/file')
    const command = { command: 'cat file', cwd: folderOf }
    return [
      await upload(path, 'text'),
      await download(path),
      (await client.post('/api/bash/execute_bash_command', command)).status,
      (await client.post('/api/bash/start_bash_command', command)).status,
    ]
  }
  expect(await statuses()).toEqual([200, 200, 200, 200])
  const long = client.post<Output>('/api/bash/execute_bash_command', {
    command: 'touch begun; while [ ! -e done ]; do sleep 0.01; done',
    cwd: folderOf,
  })
  await until(() => existsSync(join(folderOf, 'begun')))
  await client.post(`/api/v1/sandboxes/${body.id}/pause`)
  expect(await statusOf()).toBe('PAUSED')
  writeFileSync(join(folderOf, 'file'), 'stays')
  expect((await statuses()).slice(0, 3)).toEqual([409, 409, 409])
  expect(readFileSync(join(folderOf, 'file'), 'utf8')).toBe('stays')
  await client.post(`/api/v1/sandboxes/${body.id}/resume`)
  expect(await statuses()).toEqual([200, 200, 200, 200])
  writeFileSync(join(folderOf, 'done'), '')
  expect((await long).body.exit_code).toBe(0)
})
