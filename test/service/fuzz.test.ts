/**
 * Valid, nearly valid and hostile requests to every operation get a documented response; nothing fails
 * internally.
 */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine, type Engine } from '../../src/conversation/engine.ts'
import { createService, type Service } from '../../src/service/index.ts'
import type { SandboxProvider } from '../../src/service/control-plane/sandbox-provider.ts'
import { processSandboxes } from '../../src/service/node/process-sandboxes.ts'
import { directoryExtensions } from '../../src/service/node/canvas-extensions.ts'
import { directoryWorkspace } from '../../src/service/node/workspace.ts'
import { scriptedAgent } from './scripted-agent.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { action, agent, user } from '../build.ts'
import { type ApiDocument, type DocumentedOperation, operationAt, readDocument } from './document.ts'
import { brokenBody, GIANTS, pathOf, searchOf } from './hostile-requests.ts'
import { folder, processesIn } from './sandbox-commands.ts'
import { fitting, hostileJson, hostileText, nearlyFitting } from './schema-arbitraries.ts'

const KEY = 'the-key-of-the-fuzz'
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD', 'PROPFIND'] as const

/** Requests per round. */
const RUNS = 8
/** Maximum number of rounds until an operation has succeeded. */
const MAX_ROUNDS = 100
/** Timeout of a request, in milliseconds. */
const TIMEOUT = 300_000

/** Operations that this service is configured for. */
const CONFIGURED =
  /sandboxes|app-conversations(?!.*\/(?:file|git|switch))|pending-messages|\/profiles|settings|create_directory|vscode|run$|file\/(?!upload)|api\/git\/changes|ask_agent|secrets$|workspaces/

/** Always rejected, or needs a file that random paths do not hit. */
const NEVER_SUCCEEDING: readonly string[] = [
  'get_secret_value_api_settings_secrets__name__get',
  'conversation_download_file_api_file_download_get',
]

interface FuzzedRequest {
  readonly method: string
  readonly path: string
  readonly body: string | Uint8Array | null
  readonly headers: Readonly<Record<string, string>>
}

const SPECS = [
  { id: 'folder', command: null },
  { id: 'sleeper', command: ['sleep', '1000'], initial_env: { API_TOKEN: 'hush' } },
] as const

/** Random commands must not run on the machine. */
function withoutCommands({ files, ...provider }: SandboxProvider): SandboxProvider {
  if (files === undefined) return provider
  return {
    ...provider,
    files: { ...files, run: async () => ({ exit_code: 0, stdout: 'ran', stderr: '' }) },
  }
}

const served = (store: () => ReturnType<typeof memoryStore>) => {
  const failures: unknown[] = []
  const engine: Engine = createEngine({ store: store() })
  const path = folder()
  mkdirSync(join(path.path, 'files'))
  const service: Service = createService({
    engine,
    keys: [KEY],
    maxBodyBytes: 2 ** 20,
    agent: scriptedAgent(),
    secret: 'what seals the keys of the fuzz, long enough',
    askLlm: async () => undefined,
    workspace: directoryWorkspace(join(path.path, 'files')),
    canvasExtensions: directoryExtensions(join(path.path, 'files')),
    editor: { port: 8001, token: 'of-the-editor' },
    controlPlane: {
      provider: withoutCommands(
        processSandboxes({
          directory: join(path.path, 'sandboxes'),
          specs: SPECS,
          killTimeout: 100,
          givesFiles: true,
        }),
      ),
      maxSandboxes: 3,
    },
    onFailure: (error) => failures.push(error),
  })
  return { engine, service, failures, directory: path }
}

// The operations are the test cases, so they are read before the tests are defined.
const example = served(memoryStore)
const { operations } = await readDocument(example.service)
example.directory.remove()

describe.each([
  ['memory', () => memoryStore({ fullText: true })],
  ['sqlite', () => sqliteStore({ file: ':memory:', fullText: true })],
] as const)('every operation over %s', (_name, store) => {
  const { engine, service, failures, directory } = served(store)
  let document: ApiDocument
  /** Meaningful strings: seeded ids, and ids from responses. */
  const known = [
    'shared',
    'own',
    'u1',
    'a1',
    'unheard-of',
    '0123456789abcdef0123456789abcdef',
    'sleeper',
    'profile',
  ]
  /** The same strings by parameter name. */
  const knownAs = new Map([
    ['conversation_id', ['shared', 'own']],
    ['name', ['profile']],
    ['settings_key', ['profile']],
    ['sandbox_spec_id', ['sleeper', 'folder']],
  ])
  /** Operations that have succeeded. */
  const reached = new Set<string>()
  const tally = new Map<string, number>()

  beforeAll(async () => {
    document = await readDocument(service)
    const { id } = await service.controlPlane.sandboxes.start('sleeper')
    knownAs.set('sandbox_id', ['seeded', id])
  })
  /** Restores what an earlier operation deleted. */
  const seed = async ({ path }: DocumentedOperation): Promise<void> => {
    const workspace = join(directory.path, 'sandboxes', 'seeded', 'workspace')
    if (path.includes('{conversation_id}')) {
      for (const id of ['shared', 'own']) {
        if ((await engine.store.getConversation(id)) !== null) continue
        const metadata = id === 'own' ? { workspace: { working_dir: workspace } } : {}
        const conversation = await engine.create({ id, public: id === 'shared', metadata })
        await conversation.append([user('u1'), agent('g1'), action('a1')])
      }
    }
    const { sandboxes } = service.controlPlane
    if (/\{sandbox_id\}|git|bash|file/.test(path) && (await sandboxes.find('seeded')) === null) {
      await sandboxes.start('folder', 'seeded')
    }
    const file = join(workspace, 'kept.txt')
    const newFolder = join(
      path.includes('{conversation_id}') ? workspace : join(directory.path, 'files'),
      'made',
    )
    if (path.includes('download')) writeFileSync(file, 'kept')
    knownAs.set('path', [
      path.includes('create') ? newFolder : path.includes('download') ? file : workspace,
      path.includes('create') ? newFolder : path.includes('download') ? file : workspace,
    ])
    if (path.includes('{settings_key}')) {
      const mcp_config = { profile: { url: 'http://127.0.0.1/mcp' } }
      await service.fetch(
        new Request('http://localhost/api/settings', {
          method: 'PATCH',
          headers: { 'x-session-api-key': KEY },
          body: JSON.stringify({ agent_settings_diff: { mcp_config } }),
        }),
      )
    }
    if (!path.includes('{name}')) return
    await service.secrets.save({ name: 'profile', description: null }, 'hush')
    const saved = await service.fetch(
      new Request('http://localhost/api/profiles/profile', {
        method: 'POST',
        headers: { 'x-session-api-key': KEY },
        body: JSON.stringify({ llm: { model: 'model', api_key: 'hush' } }),
      }),
    )
    expect(saved.status).toBeLessThan(300)
  }
  afterAll(async () => {
    await service.controlPlane.close()
    await engine.close()
    await service.runs.settle()
    await engine.store.close()
    expect(processesIn(directory.path)).toEqual([])
    directory.remove()
  })

  const send = async ({ method, path, body, headers }: FuzzedRequest): Promise<void> => {
    const request = new Request(`http://localhost${path}`, {
      method,
      headers: { 'x-session-api-key': KEY, ...headers },
      ...(body !== null &&
        !['GET', 'HEAD'].includes(method) && { body: (GIANTS[String(body)] ?? body) as never }),
    })
    let timer: NodeJS.Timeout | undefined
    const timedOut = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => reject(new Error('was not answered')), TIMEOUT)
    })
    const answered = await Promise.race([answer(request), timedOut]).finally(() => clearTimeout(timer))
    if (failures.length > 0) throw failures.splice(0)[0]
    const { response, text } = answered
    if (response.status >= 500) throw new Error(`${response.status} ${text}`)
    if (response.status < 300) {
      reached.add(operationAt(operations, method, new URL(request.url).pathname)?.operationId ?? '')
    }
    tally.set(`${response.status}`, (tally.get(`${response.status}`) ?? 0) + 1)
    const complaint = document.complaint(method, new URL(request.url).pathname, response, text)
    if (complaint !== null) throw new Error(`${complaint}\n${text.slice(0, 400)}`)
    expect(text).not.toContain(KEY)
    if (response.headers.get('content-type')?.startsWith('application/json') === true && text !== '')
      learn(JSON.parse(text))
  }

  /** Returns the response with its text; event streams are cancelled. */
  const answer = async (request: Request): Promise<{ response: Response; text: string }> => {
    const response = await service.fetch(request)
    if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true)
      return { response, text: await response.text() }
    await response.body?.cancel()
    return { response, text: '' }
  }

  const learn = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || known.length > 400) return
    for (const [key, inner] of Object.entries(value)) {
      if (!/(^|_)id$/.test(key) || typeof inner !== 'string') learn(inner)
      else if (!known.includes(inner)) {
        known.push(inner)
        const those = knownAs.get(key) ?? []
        // The first two are seeded and always kept.
        knownAs.set(key, [...those.slice(0, 2), ...those.slice(2).slice(-20), inner])
      }
    }
  }

  const knownText = fc.nat().map((pick) => known[pick % known.length] ?? '')

  const requests = (operation: DocumentedOperation): fc.Arbitrary<FuzzedRequest> => {
    const { schemas } = document.raw.components
    const anyText = fc.oneof({ weight: 3, arbitrary: knownText }, { weight: 2, arbitrary: hostileText })
    const named = (name: string): fc.Arbitrary<string> =>
      fc.tuple(fc.nat(), anyText).map(([pick, other]) => {
        const those = knownAs.get(name) ?? []
        const sure = pick % 3 === 1 ? 2 : those.length
        return pick % 3 === 0 ? other : (those[Math.floor(pick / 3) % Math.min(sure, those.length)] ?? other)
      })
    const inPath = operation.parameters.filter((parameter) => parameter.in === 'path')
    const inQuery = operation.parameters.filter((parameter) => parameter.in === 'query')
    const queries = inQuery.map(({ name, required, schema }) => {
      const fits = fitting(schema, schemas, named(name)).map((value) =>
        (Array.isArray(value) ? value : [value]).map(String),
      )
      const input = fc.oneof(
        { weight: 6, arbitrary: fits },
        { weight: 1, arbitrary: hostileText.map((text) => [text]) },
        { weight: 1, arbitrary: fc.array(anyText, { maxLength: 130 }) },
      )
      return fc
        .tuple(fc.nat(9), input)
        .map(([skip, values]) =>
          skip < (required ? 1 : 6) ? [] : values.map((value) => [name, value] as const),
        )
    })
    const fits = operation.body === null ? fc.constant(null) : fitting(operation.body, schemas, knownText)
    const json = fc.oneof(
      { weight: 6, arbitrary: fits },
      { weight: 4, arbitrary: nearlyFitting(fits) },
      { weight: 1, arbitrary: hostileJson },
    )
    const bodies: fc.Arbitrary<string | Uint8Array | null> = fc.oneof(
      { weight: 12, arbitrary: json.map((value) => JSON.stringify(value)) },
      { weight: 2, arbitrary: brokenBody },
    )
    return fc
      .record({
        method: fc.oneof(
          { weight: 12, arbitrary: fc.constant(operation.method) },
          { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
        ),
        pathValues: fc.tuple(...inPath.map(({ name }) => named(name))),
        raw: fc.nat(5),
        query: fc.tuple(...queries),
        body: operation.body === null ? fc.option(bodies, { freq: 10 }) : bodies,
        headers: fc.constantFrom(
          {},
          { 'content-type': 'application/json' },
          { 'content-type': 'text/plain' },
        ),
      })
      .map(({ method, pathValues, raw, query, body, headers }) => ({
        method,
        path: pathOf(operation, pathValues, raw === 0) + searchOf(query.flat()),
        body,
        headers,
      }))
  }

  it.each(operations)('$method $path responds to fuzzed requests as documented', async (operation) => {
    await seed(operation)
    const { path, operationId } = operation
    const property = fc.asyncProperty(requests(operation), send)
    // Event streams are cancelled, other bodies read.
    const from = (fc.readConfigureGlobal().seed ?? Date.now()) + operations.indexOf(operation) * MAX_ROUNDS
    const rounds = CONFIGURED.test(path) && !NEVER_SUCCEEDING.includes(operationId) ? MAX_ROUNDS : 1
    // Some seeds need more rounds until an operation succeeds.
    for (let round = 0; round < rounds; round += 1) {
      await fc.assert(property, { seed: (from + round) | 0, numRuns: RUNS, endOnFailure: true })
      if (reached.has(operationId)) break
    }
  })

  it('returns 401 without a valid key unless it is public', async () => {
    const closed = operations.filter(({ security }) => security !== undefined)
    expect(closed.length).toBeGreaterThan(5)
    for (const { method, path } of closed) {
      for (const headers of [{}, { 'x-session-api-key': `${KEY}x` }, { cookie: 'api_key=' }]) {
        const request = new Request(`http://localhost${path.replaceAll(/\{\w+\}/g, 'own')}?api_key=${KEY}`, {
          method,
          headers,
        })
        const response = await service.fetch(request)
        expect([method, path, response.status]).toEqual([method, path, 401])
      }
    }
  })

  it('succeeds if configured, and statuses 200, 404, 405 and 422 each occur over 20 times', () => {
    for (const status of ['200', '404', '405', '422']) expect(tally.get(status) ?? 0).toBeGreaterThan(20)
    const configured = operations
      .filter(({ path, operationId }) => CONFIGURED.test(path) && !NEVER_SUCCEEDING.includes(operationId))
      .map(({ operationId }) => operationId)
    expect(configured.filter((id) => !reached.has(id))).toEqual([])
  })
})
