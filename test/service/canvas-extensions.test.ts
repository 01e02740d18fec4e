/** Canvas extensions: from the folder that the operator names, and from nowhere else. */

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

let position: ReturnType<typeof folder>
let root: string
let client: Client

beforeEach(async () => {
  position = folder()
  root = join(realpathSync(position.path), 'apps')
  write('../outside/index.js', 'secret')
  app('board')
  client = await clientOver(memoryStore(), { canvasExtensions: directoryExtensions(root) })
})
afterEach(async () => {
  await client.engine.close()
  position.remove()
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

it('installs a folder disabled, shows it, changes it, and removes it', async () => {
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

it('an absolute path in the folder, and a folder in a source, are sources', async () => {
  app('mono/packages/inner', { name: 'inner' })
  const { status, body } = await install(join(root, 'mono'), { repo_path: 'packages/inner' })
  expect([status, body['name'], body['repo_path']]).toEqual([200, 'inner', 'packages/inner'])
  expect((await install('mono')).status).toBe(422)
})

it.each<readonly [name: string, request: object, status: number]>([
  ['nothing', {}, 422],
  ['an empty source', { source: '' }, 422],
  ['no text', { source: 5 }, 422],
  ['a repository', { source: 'github:owner/repo' }, 400],
  ['a repository by its address', { source: 'https://example.org/a.git' }, 400],
  ['a file address', { source: 'file:///etc' }, 400],
  ['another folder', { source: '/etc' }, 400],
  ['a folder beside', { source: '../outside' }, 400],
  ['a folder whose name begins alike', { source: '../apps-not' }, 400],
  ['the folder itself', { source: '.' }, 400],
  ['what is installed', { source: '.installed' }, 400],
  ['a link out of it', { source: 'link' }, 400],
  ['a file', { source: 'board/icon.svg' }, 400],
  ['what is not there', { source: 'nothing' }, 400],
  ['NUL', { source: 'board\u0000' }, 422],
  ['a version', { source: 'board', ref: 'main' }, 400],
  ['a folder out of the source', { source: 'board', repo_path: '../second' }, 400],
  ['an absolute folder out of the source', { source: 'board', repo_path: '/etc' }, 400],
  ['a folder that is not there', { source: 'board', repo_path: 'no' }, 400],
  ['a folder without a manifest', { source: 'board', repo_path: 'dist' }, 422],
])('a source that is %s changes nothing', async (_name, request, status) => {
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
  ['not JSON', '{'],
  ['a list', '[]'],
  ['of another version', { schema_version: 2 }],
  ['without a name', { name: undefined }],
  ['not in kebab case', { name: 'Board' }],
  ['a path', { name: '../board' }],
  ['too long', { name: 'a'.repeat(256) }],
  ['an absolute entrypoint', { entrypoint: '/etc/passwd' }],
  ['an entrypoint that goes up', { entrypoint: 'dist/../../second/dist/index.js' }],
  ['no entrypoint', { entrypoint: '' }],
  ['an entrypoint that is not there', { entrypoint: 'other.js' }],
  ['an entrypoint that is a folder', { entrypoint: 'dist' }],
  [
    'an entrypoint that is a link out',
    { entrypoint: 'out.js' },
    () => symlinkSync(join(root, '../outside/index.js'), join(root, 'broken/out.js')),
  ],
  ['two pages with one id', { contributes: { pages: [page('a', '/a'), page('a', '/b')] } }],
  ['two pages with one path', { contributes: { pages: [page('a', '/a'), page('b', '/a')] } }],
  ['a page without a slash', { contributes: { pages: [page('a', 'a')] } }],
  ['a page that is no route', { contributes: { pages: [page('a', '/a/../b')] } }],
]
it.each(MANIFESTS.map(([name, manifest, prepare]) => ({ name, manifest, prepare })))(
  'a manifest that is $name is not installed',
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

it('a second install needs force, keeps whether it is enabled, and replaces the files', async () => {
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

it('a refresh is checked first, and applied as it was checked', async () => {
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

it('an installed extension that breaks stays in the list, and nothing outside is served', async () => {
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
  // A pipe would be waited for without an end.
  expect((await ask('GET', '/board/icon')).status).toBe(404)
  rmSync(copy, { recursive: true })
  expect(await names()).toEqual([])
  expect((await ask('GET', '/board')).status).toBe(404)
})

it('installs at once change it one after another', async () => {
  const all = await Promise.all(Array.from({ length: 8 }, () => install('board')))
  expect(all.map(({ status }) => status).toSorted()).toEqual([200, ...Array.from({ length: 7 }, () => 409)])
  const forced = await Promise.all(Array.from({ length: 8 }, () => install('board', { force: true })))
  expect(forced.every(({ status }) => status === 200)).toBe(true)
  expect(readFileSync(join(root, '.installed/board/dist/index.js'), 'utf8')).toContain('activate')
  expect(readdirSync(join(root, '.installed')).toSorted()).toEqual(['.staging', 'board', 'board.json'])
  expect(readdirSync(join(root, '.installed/.staging'))).toEqual([])
})

it('without a folder nothing is installed, and nothing can be', async () => {
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
