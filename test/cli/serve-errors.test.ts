import { mkdirSync, readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { SECRET } from './start-server.ts'
import { colloquy, folder } from './run-command.ts'

const URL_OF = { url: 'http://127.0.0.1:1/hook' }
const HOOK = { ...URL_OF, secret: 'a secret of the two' }
const SPEC = { id: 's', command: ['true'] }
const spec = (more: object): object => ({ sandbox_specs: [{ ...SPEC, ...more }] })
const hook = (more: object): object => ({ webhooks: [{ ...HOOK, ...more }] })

describe('an invalid configuration file', () => {
  it.each<[message: string, file: object | string]>([
    ['is not JSON (line 2 column 3)', '{\n  max_body_bytes: 1 }'],
    ['is not JSON (line 2 column 3)', '\ufeff{\n  max_body_bytes: 1 }'],
    ['is not JSON', ''],
    ['Invalid input: expected object', '[]'],
    ['Unrecognized key: "port"', { port: 80 }],
    ['max_body_bytes: Too small', { max_body_bytes: 0 }],
    ['max_body_bytes: Invalid input: expected number, received string', { max_body_bytes: '1 MB' }],
    ['max_profiles: Invalid input', { max_profiles: 1.5 }],
    ['max_sandboxes: Too small', { max_sandboxes: -1 }],
    ['sandbox_directory: Too small', { sandbox_directory: '' }],
    ['live: Unrecognized key: "inAll"', { live: { inAll: 1 } }],
    ['live.heartbeat_interval: Too big', { live: { heartbeat_interval: 2 ** 31 } }],
    ['editor.port: Invalid input', { editor: { token_env: 'T' } }],
    ['editor.port: Too big', { editor: { port: 65_536, token_env: 'T' } }],
    [
      'editor.token_env: the environment variable NONE is not set',
      { editor: { port: 1, token_env: 'NONE' } },
    ],
    ['sandbox_specs: Too small', { sandbox_specs: [] }],
    ['sandbox_specs: must not contain two specs with the same id', { sandbox_specs: [SPEC, SPEC] }],
    ['sandbox_specs[0].command: Invalid input', spec({ command: 'npm start' })],
    ['sandbox_specs[0].command: Too small', spec({ command: [] })],
    ['sandbox_specs[0].command[0]: must not contain NUL', spec({ command: ['a\u0000'] })],
    ['sandbox_specs[0].initial_env: must not set', spec({ initial_env: { PORT: '1' } })],
    ['sandbox_specs[0].initial_env: must not set', spec({ initial_env: { 'A=B': '' } })],
    [
      'sandbox_specs[0].working_dir: must be a relative path within the sandbox',
      spec({ working_dir: '/tmp' }),
    ],
    [
      'sandbox_specs[0].working_dir: must be a relative path within the sandbox',
      spec({ working_dir: 'a/../..' }),
    ],
    ['sandbox_specs[0].working_dir: must be a relative path within the sandbox', spec({ working_dir: './' })],
    ['sandbox_specs[0].health: must be a path, such as /health', spec({ health: 'http://example.org/' })],
    ['sandbox_specs[0].health: must be a path, such as /health', spec({ health: '//example.org/' })],
    ['webhooks[0].url: must be an http or https URL', hook({ url: 'ftp://h/x' })],
    ['webhooks[0].url: must be an http or https URL', hook({ url: 'http://u:pass-word@h/x' })],
    [
      'webhooks[0]: needs either secret_env, the name of an environment variable, or secret',
      { webhooks: [URL_OF] },
    ],
    ['Unrecognized key: "a"', '\ufeff{"a": 1}'],
    ['webhooks[0]: needs either secret_env', hook({ secret_env: 'H' })],
    ['webhooks[0].secret: Too small', hook({ secret: 'pass-word' })],
    [
      'webhooks[0].secret_env: must be the name of an environment variable, not its value',
      { webhooks: [{ ...URL_OF, secret_env: 'whsec_pass-word' }] },
    ],
    [
      'webhooks[0].secret_env: the environment variable NONE is not set',
      { webhooks: [{ ...URL_OF, secret_env: 'NONE' }] },
    ],
    [
      'webhooks[0].secret_env: the environment variable SHORT must have at least 16 characters',
      { webhooks: [{ ...URL_OF, secret_env: 'SHORT' }] },
    ],
    ['webhooks[0].kinds[0]: Invalid option', hook({ kinds: ['Message'] })],
    ['webhooks[0].kinds: Too small', hook({ kinds: [] })],
    ['webhooks[0].headers["a b"]: is not a valid header name', hook({ headers: { 'a b': '' } })],
    ['webhooks[0].headers.a: must be one line', hook({ headers: { a: 'x\r\nb: y' } })],
    ['webhooks[0].max_retry_delay: Too big', hook({ max_retry_delay: 1e12 })],
    ['webhooks[0].id: must be 1 to 200 printable characters', hook({ id: '' })],
    [
      'webhooks: must not contain two webhooks with the same id; the default id is the url without its query',
      { webhooks: [HOOK, { ...HOOK, url: `${HOOK.url}?a=1` }] },
    ],
  ])('fails with "%s"', async (message, file) => {
    const path = folder({ 'c.json': typeof file === 'string' ? file : JSON.stringify(file) })
    const argv = ['serve', '--port', '0', '--db', path('x.db'), '--config', path('c.json')]
    const { code, out, err } = await colloquy(argv, { env: { SHORT: 'pass-word' } })
    expect([code, out]).toEqual([1, ''])
    expect(err.trimEnd().split('\n')).toHaveLength(1)
    expect(err.slice(0, -1)).toContain(`colloquy: ${path('c.json')}: ${message}`)
    expect(err).not.toMatch(/pass-word/)
    expect(readdirSync(path())).toEqual(['c.json'])
  })

  it('fails with all its errors', async () => {
    const path = folder({
      'c.json': JSON.stringify({ a: 1, b: 2, max_body_bytes: 0, ...hook({ max_batch_events: 0 }) }),
    })
    const { code, err } = await colloquy(['serve', '--config', path('c.json')])
    expect(code).toBe(1)
    for (const problem of [
      'webhooks[0].max_batch_events: Too small',
      'max_body_bytes: Too small',
      '"a", "b"',
    ])
      expect(err).toContain(problem)
  })
})

describe('serve', () => {
  const short = { [SECRET]: 'pass-word' }
  it.each<
    [
      what: string,
      args: readonly string[],
      env: Readonly<Record<string, string>>,
      code: number,
      message: string,
    ]
  >([
    [
      'a missing configuration file',
      ['--config', 'none.json'],
      {},
      1,
      'none.json: no such file or directory',
    ],
    ['a folder as the configuration file', ['--config', 'work'], {}, 1, 'work: is a directory, not a file'],
    ['--config without a value', ['--config'], {}, 2, '--config needs a value (see: colloquy help serve)'],
    ['a missing workspace', ['--workspace', 'none'], {}, 1, '--workspace none: no such file or directory'],
    ['a file as the workspace', ['--workspace', 'a.txt'], {}, 1, '--workspace a.txt: not a directory'],
    [
      '--workspace without a value',
      ['--workspace='],
      {},
      2,
      '--workspace needs a value (see: colloquy help serve)',
    ],
    [
      'a secret of 9 characters',
      [],
      short,
      2,
      `${SECRET} must have at least 16 characters: unset it, or set a longer one (see: colloquy help serve)`,
    ],
    [
      'an empty secret',
      [],
      { [SECRET]: '' },
      2,
      `${SECRET} must have at least 16 characters: unset it, or set a longer one (see: colloquy help serve)`,
    ],
  ])('rejects %s in one line', async (_what, args, env, code, message) => {
    const path = folder({ 'a.txt': '' })
    mkdirSync(path('work'))
    const resolvedArgs = args.map((word) => (/^[a-z]/.test(word) ? path(word) : word))
    const outcome = await colloquy(['serve', '--port', '0', '--db', path('x.db'), ...resolvedArgs], { env })
    expect(outcome).toEqual({
      code,
      out: '',
      err: `colloquy: ${message.replace(/(none\S*?|a\.txt|work)(?=:)/, (name) => path(name))}\n`,
    })
    expect(readdirSync(path()).toSorted()).toEqual(['a.txt', 'work'])
  })
})
