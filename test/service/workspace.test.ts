import {
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ServiceOptions } from '../../src/service/index.ts'
import { directoryWorkspace } from '../../src/service/node/workspace.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Client, clientOver } from './client.ts'
import { folder } from './sandbox-commands.ts'

let temporary: ReturnType<typeof folder>
let root: string
let client: Client

async function begin(
  options: Omit<ServiceOptions, 'engine'> & { headers?: Record<string, string> } = {},
): Promise<void> {
  client = await clientOver(memoryStore(), { workspace: directoryWorkspace(root), ...options })
}

beforeEach(async () => {
  temporary = folder()
  root = join(realpathSync(temporary.path), 'work')
  mkdirSync(root)
  await begin()
})

afterEach(async () => {
  await client.engine.close()
  temporary.remove()
})

const make = async (path: string, index = '/api/file/create_directory'): Promise<number> =>
  (await client.send(`${index}?${new URLSearchParams({ path })}`, { method: 'POST' })).status

describe('creating a directory', () => {
  it('creates its parents, and succeeds if it exists, at both paths', async () => {
    expect(await make(join(root, 'a/b/c'))).toBe(200)
    expect(await make(join(root, 'a/b/c/'), '/file/create_directory')).toBe(200)
    expect(await make(root)).toBe(200)
    expect(existsSync(join(root, 'a/b/c'))).toBe(true)
  })

  it.each([
    ['a path with dot segments', () => `${root}/a/../../x`, 403],
    ['a path that leaves the root and returns', () => `${root}/../work/x`, 403],
    ['a path with a backslash', () => `${root}/..\\x`, 403],
    ['a path outside the root', () => join(temporary.path, 'x'), 403],
    ['a sibling with the same prefix', () => `${root}-other/x`, 403],
    ['the root of the file system', () => '/', 403],
    ['a relative path', () => 'a/b', 400],
    ['an empty path', () => '', 400],
    ['a NUL character', () => `${root}/a\u0000b`, 400],
    ['a name that is too long', () => join(root, 'x'.repeat(300)), 400],
    ['a path that is too deep', () => join(root, 'x/'.repeat(2_100)), 400],
  ])('rejects %s', async (_, path, status) => {
    expect(await make(path())).toBe(status)
    expect(readdirSync(root)).toEqual([])
    expect(readdirSync(temporary.path)).toEqual(['work'])
  })

  it('follows no symbolic link, and fails at and below a file', async () => {
    const outside = join(temporary.path, 'outside')
    mkdirSync(outside)
    symlinkSync(outside, join(root, 'link'))
    symlinkSync(join(temporary.path, 'nowhere'), join(root, 'dangling'))
    mkdirSync(join(root, 'inner'))
    symlinkSync(join(root, 'inner'), join(root, 'inside'))
    writeFileSync(join(root, 'file'), '')
    const statuses = []
    for (const path of ['link', 'link/x', 'dangling', 'dangling/x', 'inside/x', 'file', 'file/x'])
      statuses.push(await make(join(root, path)))
    expect(statuses).toEqual([403, 403, 403, 403, 403, 400, 400])
    expect([
      readdirSync(outside),
      existsSync(join(temporary.path, 'nowhere')),
      readdirSync(join(root, 'inner')),
    ]).toEqual([[], false, []])
  })

  it('creates nothing outside the root while links replace directories', async () => {
    const outside = join(temporary.path, 'outside')
    mkdirSync(outside)
    const spot = join(root, 'spot')
    const going = new AbortController()
    const swapping = (async () => {
      const turns = [
        () => mkdirSync(spot, { recursive: true }),
        () => renameSync(spot, join(root, `moved-${Math.random()}`)),
        () => symlinkSync(outside, spot),
        () => rmSync(spot),
      ]
      for (let turn = 0; !going.signal.aborted; turn += 1) {
        try {
          turns[turn % turns.length]?.()
        } catch {
          // The service was faster.
        }
        await new Promise((resolve) => setImmediate(resolve))
      }
    })()
    const statuses = new Set<number>()
    for (let round = 0; round < 300; round += 1) statuses.add(await make(join(spot, `x${round}/y`)))
    going.abort()
    await swapping
    expect(readdirSync(outside)).toEqual([])
    expect([...statuses].every((status) => [200, 403, 409].includes(status))).toBe(true)
    expect(statuses.has(200)).toBe(true)
  })

  it('needs a workspace', async () => {
    await client.engine.close()
    client = await clientOver(memoryStore())
    expect(await make(join(root, 'x'))).toBe(403)
  })
})

const url = async (query: Record<string, string> = {}): Promise<[number, unknown]> => {
  const { status, body } = await client.get<{ url?: string | null }>('/api/vscode/url', query)
  return [status, body.url]
}

describe('the URL of the editor', () => {
  it('has the configured port and path, or the requested base URL', async () => {
    expect(await url()).toEqual([200, null])
    await client.engine.close()
    await begin({ editor: { port: 8_001, token: 't&o', basePath: '/edit/' } })
    expect(await url()).toEqual([200, 'http://localhost:8001/edit/?tkn=t%26o&folder=workspace'])
    expect(await url({ base_url: 'https://host/a/?x=1#y', workspace_dir: '/my work' })).toEqual([
      200,
      'https://host/a/edit/?tkn=t%26o&folder=%2Fmy+work',
    ])
    for (const base_url of ['javascript:alert(1)', 'nonsense', 'file:///x'])
      expect((await url({ base_url }))[0]).toBe(422)
  })
})

describe('the membership of the caller', () => {
  it('contains the role and the permissions', async () => {
    const path = '/api/organizations/o1/me'
    expect((await client.get(path)).body).toMatchObject({ org_id: 'o1', role: 'owner', status: 'active' })
    expect((await client.get('/organizations/o1/me')).body).toEqual((await client.get(path)).body)
    expect((await client.send(path, { headers: { 'x-org-id': 'o2' } })).status).toBe(400)
    await client.engine.close()
    await begin({ keys: ['the session key'] })
    expect((await client.get(path)).status).toBe(401)
    const { key } = await client.service.keys.create({
      name: 'k',
      not_before: null,
      expires_at: null,
      org_id: 'o1',
    })
    const as = (index: string): Promise<{ status: number; body: unknown }> =>
      client.send(index, { headers: { 'x-session-api-key': key } })
    expect((await as(path)).body).toMatchObject({
      role: 'member',
      permissions: expect.not.arrayContaining(['manage_keys']),
    })
    expect((await as('/api/organizations/o2/me')).status).toBe(404)
  })
})
