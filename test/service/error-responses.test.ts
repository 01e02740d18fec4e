import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { directoryWorkspace } from '../../src/service/node/workspace.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { type Client, clientOver } from './client.ts'

const SHARED = '0123456789abcdef0123456789abcdef'
const SEARCH = `/api/shared-events/search?conversation_id=${SHARED}`
const C = '/api/conversations'
const MAX_BODY_BYTES = 4_096

const KEY = { 'x-session-api-key': 'the-key' } as const

type Row = readonly [what: string, request: RequestSpec, status: number, detail: unknown]

interface RequestSpec {
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
}

/** A row that expects 422. */
const invalid = (
  what: string,
  request: RequestSpec,
  loc: readonly (string | number)[],
  type: string,
): Row => [what, request, 422, [expect.objectContaining({ loc, type, msg: expect.any(String) })]]

/** A row that expects 422 for a search parameter. */
const search = (what: string, query: string, name: string, type: string): Row =>
  invalid(what, { path: `${SEARCH}&${query}` }, ['query', name], type)

const post = (path: string, body: string | object, headers = {}): RequestSpec => ({
  path,
  method: 'POST',
  headers: { ...KEY, 'content-type': 'application/json', ...headers },
  body: typeof body === 'string' || body instanceof Uint8Array ? (body as string) : JSON.stringify(body),
})

const get = (path: string): RequestSpec => ({ path, headers: KEY })

const text = (value: string) => ({ content: [{ type: 'text', text: value }] })

const ids = (count: number): string => Array.from({ length: count }, (_, index) => `id=${index}`).join('&')

const SEARCHES: readonly Row[] = [
  search('limit 0', 'limit=0', 'limit', 'greater_than'),
  search('a negative limit', 'limit=-1', 'limit', 'greater_than'),
  search('a limit above 100', 'limit=101', 'limit', 'less_than_equal'),
  search('a limit that is not a number', 'limit=ten', 'limit', 'int_parsing'),
  [
    'no conversation',
    { path: '/api/shared-events/search' },
    422,
    [{ loc: ['query', 'conversation_id'], type: 'missing', msg: 'Field required', input: null }],
  ],
  search('an unknown kind', 'kind__eq=Message', 'kind__eq', 'enum'),
  search('an invalid time', 'timestamp__gte=soon', 'timestamp__gte', 'datetime_from_date_parsing'),
  search('an unknown order', 'sort_order=KIND', 'sort_order', 'enum'),
  search('an invalid cursor', 'page_id=1', 'page_id', 'value_error'),
  search('a cursor of another query', 'page_id=CURSOR&kind__eq=PauseEvent', 'page_id', 'value_error'),
  search('a cursor of another order', 'page_id=CURSOR&sort_order=TIMESTAMP_DESC', 'page_id', 'value_error'),
  invalid(
    'a cursor of another conversation',
    { path: '/api/shared-events/search?conversation_id=other&page_id=CURSOR' },
    ['query', 'page_id'],
    'value_error',
  ),
  [
    'more than 100 events at once',
    { path: `/api/shared-events?conversation_id=${SHARED}&${ids(101)}` },
    400,
    'Cannot get more than 100 events at once: the request has 101 ids.',
  ],
]

const BODIES: readonly Row[] = [
  invalid('no body', { path: `${C}/${SHARED}/events`, method: 'POST', headers: KEY }, ['body'], 'missing'),
  invalid('invalid JSON', post(`${C}/${SHARED}/events`, '{"content":'), ['body'], 'json_invalid'),
  invalid(
    'invalid UTF-8',
    post(C, new Uint8Array([...new TextEncoder().encode('{"title":"'), 0xff, 0x22, 0x7d])),
    ['body'],
    'json_invalid',
  ),
  invalid(
    'a truncated UTF-8 character',
    post(C, new Uint8Array([...new TextEncoder().encode('{"title":"'), 0xc3])),
    ['body'],
    'json_invalid',
  ),
  invalid(
    'a body nested too deep',
    post(C, '['.repeat(1_000) + ']'.repeat(1_000)),
    ['body', ...Array.from({ length: 10 }, () => 0), '…'],
    'value_error',
  ),
  [
    'a body over the limit',
    post(`${C}/${SHARED}/events`, text('x'.repeat(MAX_BODY_BYTES))),
    413,
    `The body is larger than ${MAX_BODY_BYTES} bytes.`,
  ],
  invalid('an unknown field', post(`${C}/x/fork`, { titel: 'x' }), ['body', 'titel'], 'extra_forbidden'),
  invalid(
    'an unknown nested field',
    post(C, { initial_message: { ...text('x'), more: 1 } }),
    ['body', 'initial_message', 'more'],
    'extra_forbidden',
  ),
  invalid(
    'a field called __proto__',
    post(`${C}/x/fork`, '{"__proto__":{}}'),
    ['body', '__proto__'],
    'extra_forbidden',
  ),
  invalid('a tag called __proto__', post(C, '{"tags":{"__proto__":"x"}}'), ['body', 'tags'], 'value_error'),
  invalid(
    'the role system',
    post(`${C}/${SHARED}/events`, { role: 'system', ...text('x') }),
    ['body', 'role'],
    'literal_error',
  ),
  ...['.', '..', 'search', 'count'].map((id) =>
    invalid(
      `the reserved id ${id}`,
      post(C, { conversation_id: id }),
      ['body', 'conversation_id'],
      'value_error',
    ),
  ),
]

const PATHS: readonly Row[] = [
  ['an unknown path', get('/nowhere'), 404, 'Not Found'],
  [
    'a path with dot segments',
    get(`${C}/..%2f..%2fetc%2fpasswd`),
    404,
    expect.stringContaining('was not found'),
  ],
  ['an unknown conversation', get(`${C}/nothing`), 404, expect.stringContaining('was not found')],
  ['an unsupported method', { path: C, method: 'PUT', headers: KEY }, 405, 'Method Not Allowed'],
  ...(
    [
      ['/etc/colloquy', 403],
      ['ROOT/../elsewhere', 403],
      ['ROOT/a/../../elsewhere', 403],
      ['relative', 400],
      ['ROOT/a%00b', 400],
    ] as const
  ).map(([path, status]): Row => [
    `a directory at ${path}`,
    { path: `/api/file/create_directory?path=${path}`, method: 'POST', headers: KEY },
    status,
    expect.any(String),
  ]),
]

const CALLERS: readonly Row[] = [
  ['no key', { path: C }, 401, 'Unauthorized'],
  ['a wrong key', { path: C, headers: { 'x-session-api-key': 'another' } }, 401, 'Unauthorized'],
  ...['session_api_key', 'api_key', 'access_token', 'token', 'X-Session-API-Key'].map((name): Row => [
    `a key in the URL as ${name}`,
    { path: `${C}?${name}=the-key` },
    401,
    'Unauthorized',
  ]),
  [
    'a cross-site request with the cookie',
    { path: C, method: 'POST', headers: { cookie: 'api_key=the-key', origin: 'https://elsewhere.example' } },
    403,
    'Cross-site requests must not use a cookie. Send the key in a header.',
  ],
]

describe('error responses', () => {
  let client: Client
  let cursor = ''
  const root = process.cwd()
  beforeAll(async () => {
    const store = memoryStore()
    client = await clientOver(store, {
      keys: ['the-key'],
      maxBodyBytes: MAX_BODY_BYTES,
      workspace: directoryWorkspace(root),
    })
    await store.createConversation({ id: SHARED, public: true })
    await store.append(SHARED, [
      { kind: 'PauseEvent', id: 'a' },
      { kind: 'PauseEvent', id: 'b' },
    ])
    const { body } = await client.send<{ next_page_id: string }>(`${SEARCH}&limit=1`)
    cursor = encodeURIComponent(body.next_page_id)
  })
  afterAll(() => client.engine.close())

  it.each([...SEARCHES, ...BODIES, ...PATHS, ...CALLERS])(
    'contain the status and the detail for %s',
    async (_what, { path, ...init }, status, detail) => {
      const url = path.replace('CURSOR', cursor).replace('ROOT', encodeURIComponent(root))
      const answer = await client.send(url, init)
      expect([answer.status, answer.body]).toEqual([status, { detail }])
    },
  )
})
