import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { processSandboxes } from '../../src/service/node/process-sandboxes.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Client, clientOver } from './client.ts'
import { folder } from './sandbox-commands.ts'

let root: ReturnType<typeof folder>
let home: string
let client: Client
let id: string
let workspace: string
let other: { readonly id: string; readonly folder: string }

const create = async (name: string) => {
  const working_dir = join(home, 'workspace/project', name)
  const { body } = await client.post<{ id: string }>('/api/conversations', { workspace: { working_dir } })
  return { id: body.id, folder: working_dir }
}

beforeEach(async () => {
  root = folder()
  home = realpathSync(root.path)
  const provider = processSandboxes({ directory: home, givesFiles: true })
  const editor = { port: 9_000, token: 't' }
  client = await clientOver(memoryStore(), { controlPlane: { provider }, editor })
  ;({ id, folder: workspace } = await create('own'))
  other = await create('own-not')
})
afterEach(async () => {
  await client.service.controlPlane.close()
  await client.engine.close()
  root.remove()
})

interface Output {
  readonly id: string
  readonly command_id: string
  readonly stdout: string
  readonly exit_code: number
}
const base = (): string => `/api/conversations/${id}`
const run = (command: string, more: object = {}, path = `${base()}/bash/execute_bash_command`) =>
  client.post<Output>(path, { command, ...more })
const upload = (route: string, path: string, text = 'text') => {
  const body = new FormData()
  body.set('file', new File([text], 'x'))
  return client.send(`${route}?${new URLSearchParams({ path })}`, { method: 'POST', body })
}

it('a create makes its folder before any sandbox exists', async () => {
  const directory = join(home, 'not/yet')
  const provider = processSandboxes({ directory, givesFiles: true })
  const fresh = await clientOver(memoryStore(), { controlPlane: { provider } })
  const { body } = await fresh.get<{ home: string }>('/api/file/home')
  const cwd = join(body.home, 'workspace/project/first')
  expect((await fresh.post('/api/conversations', { workspace: { working_dir: cwd } })).status).toBe(201)
  const output = await fresh.post<Output>('/api/bash/execute_bash_command', { command: 'pwd', cwd })
  expect([output.status, output.body.stdout]).toEqual([200, `${realpathSync(cwd)}\n`])
  await fresh.service.controlPlane.close()
  await fresh.engine.close()
})

it('a create makes a `working_dir` below the home, but none outside', async () => {
  const { body } = await client.get<{ home: string }>('/api/file/home')
  expect(body.home).toBe(home)
  expect(existsSync(workspace)).toBe(true)
  expect((await run('pwd', { cwd: workspace }, '/api/bash/execute_bash_command')).body.stdout).toBe(
    `${workspace}\n`,
  )
  const outside = await client.post<{ id: string }>('/api/conversations', {
    workspace: { working_dir: '/tmp/never-made' },
  })
  expect(outside.status).toBe(201)
  expect(existsSync('/tmp/never-made')).toBe(false)
  expect((await client.get(`/api/conversations/${outside.body.id}/git/changes`)).status).toBe(404)
})

async function runIn(cwd: string): Promise<readonly [status: number, output: string]> {
  const { status, body } = await run('pwd', { cwd }, '/api/bash/execute_bash_command')
  return [status, body.stdout]
}

it('a relative `cwd` is a folder below the home, and cannot leave it', async () => {
  expect(await runIn('workspace')).toEqual([200, `${join(home, 'workspace')}\n`])
  expect(await runIn('work/below')).toEqual([200, `${join(home, 'work/below')}\n`])
  expect((await runIn('../outside'))[0]).toBe(403)
  expect((await runIn('work/../../outside'))[0]).toBe(403)
  expect(existsSync(join(home, '../outside'))).toBe(false)
})

describe('commands of a conversation', () => {
  it('run in its folder, and appear only in its own history', async () => {
    expect((await run('pwd')).body).toMatchObject({
      kind: 'BashOutput',
      stdout: `${workspace}\n`,
      exit_code: 0,
    })
    expect((await run('pwd', { cwd: workspace })).body.stdout).toBe(`${workspace}\n`)
    await run('mkdir -p sub')
    expect((await run('pwd', { cwd: join(workspace, 'sub') })).body.stdout).toBe(`${workspace}/sub\n`)
    const search = (path: string) => client.get<{ items: object[] }>(`${path}/bash/bash_events/search`)
    expect((await search(base())).body.items).toHaveLength(8)
    expect((await search('/api')).body.items).toEqual([])
    expect((await search(`/api/conversations/${other.id}`)).body.items).toEqual([])
    const { body } = await client.send<{ cleared_count: number }>(`${base()}/bash/bash_events`, {
      method: 'DELETE',
    })
    expect(body.cleared_count).toBe(8)
  })

  it('do not appear in the history of a later conversation with the same id', async () => {
    await run('echo secret')
    await client.send(base(), { method: 'DELETE' })
    await client.post('/api/conversations', { conversation_id: id, workspace: { working_dir: workspace } })
    const { status, body } = await client.get<{ items: object[] }>(`${base()}/bash/bash_events/search`)
    expect([status, body.items]).toEqual([200, []])
  })

  it('run in its folder with `?cid=`', async () => {
    const path = `/api/bash/execute_bash_command?cid=${id}`
    expect((await run('pwd', {}, path)).body.stdout).toBe(`${workspace}\n`)
    expect((await run('pwd', {}, '/api/bash/execute_bash_command?cid=nobody')).status).toBe(404)
    expect((await run('pwd', {}, '/api/bash/execute_bash_command')).status).toBe(400)
  })

  it('can be stopped one by one, and a second stop has no effect', async () => {
    const start = () => client.post<Output>(`${base()}/bash/start_bash_command`, { command: 'sleep 60' })
    const [first, second] = [(await start()).body.id, (await start()).body.id]
    const stop = (command: string) => client.post(`${base()}/bash/bash_commands/${command}/stop`)
    expect((await stop(first)).status).toBe(200)
    const outputs = async () =>
      (await client.get<{ items: Output[] }>(`${base()}/bash/bash_events/search`, { kind__eq: 'BashOutput' }))
        .body.items
    while ((await outputs()).length === 0) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(await outputs()).toMatchObject([{ command_id: first, exit_code: -15 }])
    expect([(await stop(first)).status, (await stop('nothing')).status]).toEqual([200, 404])
    expect((await client.post(`/api/bash/bash_commands/${second}/stop`)).status).toBe(404)
    expect((await stop(second)).status).toBe(200)
  })
})

it('files in the folder can be uploaded, downloaded and listed by git', async () => {
  expect((await upload(`${base()}/file/upload`, join(workspace, 'a/b.txt'))).status).toBe(200)
  expect(readFileSync(join(workspace, 'a/b.txt'), 'utf8')).toBe('text')
  expect((await client.get(`${base()}/file/download`, { path: join(workspace, 'a/b.txt') })).body).toBe(
    'text',
  )
  expect((await client.get('/api/file/download', { path: join(workspace, 'a/b.txt'), cid: id })).body).toBe(
    'text',
  )
  expect(
    (await client.send(`${base()}/file/create_directory?path=${workspace}/new/deep`, { method: 'POST' }))
      .status,
  ).toBe(200)
  expect(existsSync(join(workspace, 'new/deep'))).toBe(true)
  execFileSync('git', ['init', '-q'], { cwd: workspace })
  for (const path of [`${base()}/git/changes`, `/api/git/changes?cid=${id}`])
    expect((await client.get(path)).body).toEqual([{ status: 'ADDED', path: 'a/b.txt' }])
  expect((await client.get(`${base()}/git/commits`)).body).toEqual({ commits: [], has_more: false })
  expect((await client.get(`${base()}/git/diff`, { path: join(workspace, 'a/b.txt') })).body).toEqual({
    modified: 'text',
    original: null,
  })
  const { body } = await client.get<{ url: string }>(`${base()}/vscode/url`)
  expect(new URL(body.url).searchParams.get('folder')).toBe(workspace)
  expect((await client.get(`${base()}/vscode/status`)).body).toEqual({ running: true, enabled: true })
})

it('paths and links out of the folder cannot be read, written or run in', async () => {
  writeFileSync(join(other.folder, 'secret'), 'secret')
  symlinkSync(other.folder, join(workspace, 'link'))
  symlinkSync('/etc', join(workspace, 'etc'))
  const paths: readonly string[] = [
    join(other.folder, 'secret'),
    `${workspace}-not/secret`,
    `${workspace}/../own-not/secret`,
    `${workspace}/link/secret`,
    `${workspace}/link/new/file`,
    'relative',
    './a',
    '~',
    '/etc/passwd',
    home,
  ]
  for (const path of paths) {
    const statuses = [
      (await client.get(`${base()}/file/download`, { path })).status,
      (await client.get('/api/file/download', { path, cid: id })).status,
      (await upload(`${base()}/file/upload`, path)).status,
      (
        await client.send(`${base()}/file/create_directory?${new URLSearchParams({ path })}`, {
          method: 'POST',
        })
      ).status,
      (await client.get(`${base()}/git/changes`, { path })).status,
      (await run('pwd', { cwd: path })).status,
    ]
    expect([path, ...statuses]).toEqual([path, ...statuses.map(() => 422)])
  }
  expect((await client.get(`${base()}/file/download`, { path: `${workspace}/etc/passwd` })).status).toBe(403)
  expect((await run('pwd', { cwd: `${workspace}\u0000` })).status).toBe(422)
  for (const unknown of ['nobody', '../x', '%00'])
    expect((await client.get(`/api/conversations/${encodeURIComponent(unknown)}/git/changes`)).status).toBe(
      404,
    )
  expect(readFileSync(join(other.folder, 'secret'), 'utf8')).toBe('secret')
  expect((await client.get('/api/git/changes')).status).toBe(422)
})
