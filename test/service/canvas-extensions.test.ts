/** Canvas extensions are installed only from the folder that the operator configures. */

import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { directoryExtensions } from '../../src/service/node/canvas-extensions.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Client, clientOver } from './client.ts'
import { folder } from './sandbox-commands.ts'

const BASE = '/api/canvas-extensions'
const MANIFEST = {
  schema_version: 1,
  name: 'dash-board',
  display_name: 'Dashboard',
  version: '1.0.0',
  entrypoint: 'dist/index.js',
  icon: 'icon.svg',
  contributes: { pages: [{ id: 'main', title: 'Main', path: '/main/all' }] },
}

let directory: ReturnType<typeof folder>
let root: string
let client: Client

beforeEach(async () => {
  directory = folder()
  root = join(realpathSync(directory.path), 'apps')
  write('../outside/index.js', 'secret')
  app('board')
  client = await clientOver(memoryStore(), { canvasExtensions: directoryExtensions(root) })
})
afterEach(async () => {
  await client.engine.close()
  directory.remove()
})

const write = (path: string, text: string): void => {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}
function app(path: string, manifest: object | string = {}, code = 'export const activate = 1'): void {
  const text =
    typeof manifest === 'string' ? manifest : JSON.stringify({ ...MANIFEST, name: path, ...manifest })
  write(`${path}/canvas-extension.json`, text)
  write(`${path}/dist/index.js`, code)
  write(`${path}/icon.svg`, '<svg xmlns="http://www.w3.org/2000/svg"/>')
}
const install = (source: string, more: object = {}) =>
  client.post<Record<string, unknown>>(`${BASE}/install`, { source, ...more })
const ask = async (method: string, path: string, body?: object) =>
  client.send(`${BASE}/installed${path}`, {
    method,
    ...(body !== undefined && {
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    }),
  })
const names = async (): Promise<string[]> => {
  const { body } = await client.get<{ canvas_extensions: { name: string }[] }>(`${BASE}/installed`)
  return body.canvas_extensions.map(({ name }) => name)
}
/** All files of the folder, to show that nothing was changed. */
const tree = (): string[] => readdirSync(root, { recursive: true, encoding: 'utf8' }).toSorted()

it('an extension is installed disabled, and can be read, enabled and uninstalled', async () => {
  expect((await install('board', { enabled: true })).status).toBe(422)
  const { status, body } = await install('board')
  expect(status).toBe(200)
  expect(body).toEqual({
    name: 'board',
    version: '1.0.0',
    description: '',
    enabled: false,
    source: 'board',
    resolved_ref: null,
    repo_path: null,
    installed_at: expect.any(String),
    install_path: join(root, '.installed/board'),
    manifest: { ...MANIFEST, name: 'board', description: '' },
  })
  expect((await ask('GET', '')).body).toEqual({ canvas_extensions: [body] })
  expect((await ask('GET', '/board')).body).toEqual(body)
  expect((await ask('PATCH', '/board', { enabled: true })).body).toEqual({ name: 'board', enabled: true })
  expect((await ask('GET', '/board')).body).toEqual({ ...body, enabled: true })
  expect((await ask('PATCH', '/board', { enabled: 'yes' })).status).toBe(422)
  const bundle = await ask('GET', '/board/bundle')
  expect([bundle.body, bundle.headers.get('content-type'), bundle.headers.get('cache-control')]).toEqual([
    'export const activate = 1',
    'text/javascript; charset=utf-8',
    'no-cache',
  ])
  const icon = await ask('GET', '/board/icon')
  expect(icon.headers.get('content-security-policy')).toContain('sandbox')
  expect(icon.headers.get('x-content-type-options')).toBe('nosniff')
  expect(String(icon.body)).toContain('<svg')
  expect((await ask('GET', '/board/backend')).body).toEqual({ name: 'board', state: 'unsupported' })
  expect((await ask('DELETE', '/board')).body).toEqual({ message: "Canvas extension 'board' uninstalled" })
  expect((await ask('DELETE', '/board')).status).toBe(404)
  expect(await names()).toEqual([])
  expect(existsSync(join(root, 'board/dist/index.js'))).toBe(true)
})

it('a manifest can begin with a byte order mark', async () => {
  app('marked', `\ufeff${JSON.stringify({ ...MANIFEST, name: 'marked' })}`)
  const { status, body } = await install('marked')
  expect([status, body['name']]).toEqual([200, 'marked'])
})

it('a source can be an absolute path with a repo_path below it', async () => {
  app('mono/packages/inner', { name: 'inner' })
  const { status, body } = await install(join(root, 'mono'), { repo_path: 'packages/inner' })
  expect([status, body['name'], body['repo_path']]).toEqual([200, 'inner', 'packages/inner'])
  expect((await install('mono')).status).toBe(422)
})

it.each<readonly [name: string, request: object, status: number]>([
  ['an empty body', {}, 422],
  ['an empty source', { source: '' }, 422],
  ['a numeric source', { source: 5 }, 422],
  ['a repository', { source: 'github:owner/repo' }, 400],
  ['a repository URL', { source: 'https://example.org/a.git' }, 400],
  ['a file URL', { source: 'file:///etc' }, 400],
  ['an absolute path outside the folder', { source: '/etc' }, 400],
  ['a sibling folder', { source: '../outside' }, 400],
  ['a sibling folder with the same prefix', { source: '../apps-not' }, 400],
  ['the folder itself', { source: '.' }, 400],
  ['the folder of installed extensions', { source: '.installed' }, 400],
  ['a symbolic link to another folder', { source: 'link' }, 400],
  ['a file', { source: 'board/icon.svg' }, 400],
  ['a missing folder', { source: 'nothing' }, 400],
  ['a NUL character', { source: 'board\u0000' }, 422],
  ['a ref', { source: 'board', ref: 'main' }, 400],
  ['a repo_path above the source', { source: 'board', repo_path: '../second' }, 400],
  ['an absolute repo_path', { source: 'board', repo_path: '/etc' }, 400],
  ['a missing repo_path', { source: 'board', repo_path: 'no' }, 400],
  ['a repo_path without a manifest', { source: 'board', repo_path: 'dist' }, 422],
])('install rejects %s and changes nothing', async (_name, request, status) => {
  symlinkSync('../outside', join(root, 'link'))
  mkdirSync(join(root, '../apps-not'))
  app('second')
  const before = tree()
  const answer = await client.post<{ detail: unknown }>(`${BASE}/install`, request)
  expect([answer.status, JSON.stringify(answer.body)]).toEqual([
    status,
    expect.not.stringContaining('secret'),
  ])
  expect(tree().filter((path) => !path.startsWith('.installed'))).toEqual(before)
  expect(await names()).toEqual([])
})

const MANIFESTS: readonly (readonly [name: string, manifest: object | string, prepare?: () => void])[] = [
  ['invalid JSON', '{'],
  ['an array', '[]'],
  ['another schema version', { schema_version: 2 }],
  ['no name', { name: undefined }],
  ['a name not in kebab case', { name: 'Board' }],
  ['a path as its name', { name: '../board' }],
  ['a name of 256 characters', { name: 'a'.repeat(256) }],
  ['an absolute entrypoint', { entrypoint: '/etc/passwd' }],
  ['an entrypoint above its folder', { entrypoint: 'dist/../../second/dist/index.js' }],
  ['an empty entrypoint', { entrypoint: '' }],
  ['a missing entrypoint', { entrypoint: 'other.js' }],
  ['an entrypoint that is a folder', { entrypoint: 'dist' }],
  [
    'an entrypoint that links to another folder',
    { entrypoint: 'out.js' },
    () => symlinkSync(join(root, '../outside/index.js'), join(root, 'broken/out.js')),
  ],
  ['two pages with one id', { contributes: { pages: [page('a', '/a'), page('a', '/b')] } }],
  ['two pages with one path', { contributes: { pages: [page('a', '/a'), page('b', '/a')] } }],
  ['a page path without a leading slash', { contributes: { pages: [page('a', 'a')] } }],
  ['a page path with dots', { contributes: { pages: [page('a', '/a/../b')] } }],
]
it.each(MANIFESTS.map(([name, manifest, prepare]) => ({ name, manifest, prepare })))(
  'install rejects a manifest with $name',
  async ({ manifest, prepare }) => {
    app('broken', manifest)
    prepare?.()
    const { status, body } = await install('broken')
    expect([status, body]).toEqual([422, { detail: [expect.objectContaining({ msg: expect.any(String) })] }])
    expect(await names()).toEqual([])
    expect(readdirSync(join(root, '.installed/.staging'))).toEqual([])
  },
)

function page(id: string, path: string): object {
  return { id, title: 'Page', path }
}

it('a second install needs `force`, replaces the files and keeps the enabled state', async () => {
  await install('board')
  await ask('PATCH', '/board', { enabled: true })
  const tag = (await ask('GET', '/board/bundle')).headers.get('etag')
  app('board', { version: '2.0.0' }, 'export const activate = 2')
  expect((await install('board')).status).toBe(409)
  expect((await ask('GET', '/board')).body).toMatchObject({ version: '1.0.0' })
  const { body } = await install('board', { force: true })
  expect(body).toMatchObject({ version: '2.0.0', enabled: true })
  const bundle = await ask('GET', '/board/bundle')
  expect(bundle.body).toBe('export const activate = 2')
  expect(bundle.headers.get('etag')).not.toBe(tag)
})

it('a refresh needs a check, and applies the files that were checked', async () => {
  await install('board')
  const apply = (more: object = {}) => ask('POST', '/board/refresh/apply', { enabled: true, ...more })
  const check = async () => (await ask('POST', '/board/refresh/check')).body
  expect((await apply()).status).toBe(409)
  app('board', { version: '2.0.0' }, 'export const activate = 2')
  expect(await check()).toEqual({ requested_ref: null, resolved_ref: null, validated: true })
  expect((await ask('GET', '/board')).body).toMatchObject({ version: '1.0.0', enabled: false })
  // What changes after the check is not applied.
  app('board', { version: '3.0.0' })
  expect((await ask('POST', '/board/refresh/apply', {})).status).toBe(422)
  expect((await apply()).body).toMatchObject({ version: '2.0.0', enabled: true, source: 'board' })
  expect((await ask('GET', '/board/bundle')).body).toBe('export const activate = 2')
  expect((await apply()).status).toBe(409)
  for (const manifest of [{ name: 'other' }, { entrypoint: 'none.js' }, '{'] as const) {
    app('board', manifest)
    expect(await check()).toMatchObject({ validated: false })
    expect((await apply()).status).toBe(409)
  }
  rmSync(join(root, 'board'), { recursive: true })
  expect((await ask('POST', '/board/refresh/check')).status).toBe(400)
  expect((await ask('GET', '/board')).body).toMatchObject({ version: '2.0.0', enabled: true })
})

it('a broken extension stays in the list, and its links to other folders get 404', async () => {
  await install('board')
  const copy = join(root, '.installed/board')
  for (const file of ['dist/index.js', 'icon.svg']) {
    rmSync(join(copy, file))
    symlinkSync(join(root, '../outside/index.js'), join(copy, file))
  }
  expect((await ask('GET', '/board')).body).toMatchObject({ manifest: null })
  expect(await names()).toEqual(['board'])
  for (const path of ['/board/bundle', '/board/icon']) expect((await ask('GET', path)).status).toBe(404)
  expect((await ask('PATCH', '/board', { enabled: true })).status).toBe(200)
  rmSync(copy, { recursive: true })
  cpSync(join(root, 'board'), copy, { recursive: true })
  rmSync(join(copy, 'icon.svg'))
  execFileSync('mkfifo', [join(copy, 'icon.svg')])
  // Reading a pipe would never end.
  expect((await ask('GET', '/board/icon')).status).toBe(404)
  rmSync(copy, { recursive: true })
  expect(await names()).toEqual([])
  expect((await ask('GET', '/board')).status).toBe(404)
})

it('of eight concurrent installs one succeeds without `force`, and all with it', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => install('board')))
  expect(all.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 409)])
  const forced = await Promise.all(Array.from({ length: 8 }, () => install('board', { force: true })))
  expect(forced.every(({ status }) => status === 200)).toBe(true)
  expect(readFileSync(join(root, '.installed/board/dist/index.js'), 'utf8')).toContain('activate')
  expect(readdirSync(join(root, '.installed')).toSorted()).toEqual(['.staging', 'board', 'board.json'])
  expect(readdirSync(join(root, '.installed/.staging'))).toEqual([])
})

it('without a configured folder the list is empty, and an install gets 403', async () => {
  const bare = await clientOver(memoryStore())
  expect((await bare.get(`${BASE}/installed`)).body).toEqual({ canvas_extensions: [] })
  expect((await bare.post(`${BASE}/install`, { source: 'board' })).status).toBe(403)
  for (const path of ['', '/bundle', '/icon'])
    expect((await bare.get(`${BASE}/installed/board${path}`)).status).toBe(404)
  expect((await bare.get(`${BASE}/installed/board/backend`)).body).toEqual({
    name: 'board',
    state: 'missing',
  })
  expect((await bare.get(`${BASE}/installed/Bad`)).status).toBe(422)
  await bare.engine.close()
})
