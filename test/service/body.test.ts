/** Bodies of limited size, with a declared length and in chunks. */

import { describe, expect, it } from 'vitest'
import { allowOrigins } from '../../src/service/http/cors.ts'
import { createApp, readBytes, streamOf } from '../../src/service/http/app.ts'
import { operationsIn } from '../../src/service/http/operation.ts'

const LIMIT = 4
const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)

/** A request whose body arrives in these chunks, and then ends, or fails. */
function requestOf(chunks: readonly string[], declared: number | null, fails = false) {
  const sent = { pulled: 0, isCancelled: false }
  const body = new ReadableStream(
    {
      pull(controller) {
        const chunk = chunks[sent.pulled]
        sent.pulled += 1
        if (chunk !== undefined) controller.enqueue(bytes(chunk))
        else if (fails) controller.error(new Error('reset'))
        else controller.close()
      },
      cancel: () => void (sent.isCancelled = true),
    },
    { highWaterMark: 0 },
  )
  const headers: Record<string, string> = declared === null ? {} : { 'content-length': String(declared) }
  const request = new Request('http://localhost', { method: 'POST', body, headers, duplex: 'half' } as never)
  return { request, sent }
}

const outcome = (request: Request) =>
  readBytes(request, LIMIT).then(
    (read) => new TextDecoder().decode(read),
    (error: { readonly status: number }) => error.status,
  )

describe.each([
  ['with a declared length', true],
  ['in chunks', false],
])('`readBytes` for a body %s', (_, isDeclared) => {
  it.each<[string, readonly string[], string | number]>([
    ['an empty body', [], ''],
    ['the maximum size', ['ab', 'cd'], 'abcd'],
    ['one byte more', ['abcd', 'e'], 413],
  ])('with %s, the result of %j is %j', async (__, chunks, expected) => {
    const { request } = requestOf(chunks, isDeclared ? chunks.join('').length : null)
    expect(await outcome(request)).toBe(expected)
  })

  it('fails with 400 when the body breaks off', async () => {
    expect(await outcome(requestOf(['ab'], isDeclared ? LIMIT : null, true).request)).toBe(400)
  })
})

it('a declared length above the limit gets 413 unread, and an endless body is cancelled', async () => {
  const declared = requestOf(['abcde'], 5)
  expect([await outcome(declared.request), declared.sent.pulled]).toEqual([413, 0])
  const endless = requestOf(Array<string>(1_000).fill('abc'), null)
  expect([await outcome(endless.request), endless.sent]).toEqual([413, { pulled: 2, isCancelled: true }])
  // The response does not wait for the end of the cancellation.
  const { promise } = Promise.withResolvers<void>()
  const stuck = new ReadableStream({ pull: (chunks) => chunks.enqueue(bytes('abc')), cancel: () => promise })
  const request = { method: 'POST', body: stuck, duplex: 'half' } as never
  expect(await outcome(new Request('http://localhost', request))).toBe(413)
  // A runtime may pass on a length that is not the body's.
  expect(await outcome(requestOf(['abcde'], 1).request)).toBe(413)
})

it('a compressed body gets 415 unread, not an error about its bytes', async () => {
  for (const [encoding, expected] of [
    ['gzip', 415],
    ['GZIP, br', 415],
    ['identity', 'ab'],
    ['', 'ab'],
  ] as const) {
    const { request, sent } = requestOf(['ab'], 2)
    request.headers.set('content-encoding', encoding)
    expect([await outcome(request), sent.pulled > 0]).toEqual([expected, expected === 'ab'])
  }
})

it('a request without a body reads as an empty text', async () => {
  expect(await outcome(new Request('http://localhost'))).toBe('')
})

it('cancelling a stream ends its generator and ignores an error of its cleanup', async () => {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  let ended = 0
  const pieces = async function* () {
    try {
      for (;;) yield bytes('a')
    } finally {
      ended += 1
      await Promise.reject(new Error('the store is away'))
    }
  }
  const reader = streamOf(pieces()).getReader()
  await reader.read()
  await reader.cancel()
  await new Promise((resolve) => setTimeout(resolve, 10))
  process.off('unhandledRejection', note)
  expect([ended, unhandled]).toEqual([1, []])
})

it('a handler sends only the declared result, and a missing result is an internal error', async () => {
  const operation = operationsIn('Test')
  const failures: string[] = []
  const app = createApp(
    [
      operation('get /silent', { name: 'silent', handle: () => undefined }),
      operation('get /talkative', { name: 'talkative', handle: () => 'a removed secret' }),
      operation('get /text', { name: 'text', returns: 'string', handle: () => 'text' }),
      operation('get /forgetful', { name: 'forgetful', returns: 'string', handle: () => undefined }),
    ],
    {
      requireUser: () => Promise.resolve(),
      onFailure: (error) => void failures.push(String(error)),
      onRequest: () => () => undefined,
      around: (_request, _operation, work) => work(),
      maxBodyBytes: LIMIT,
      allowOrigin: allowOrigins([]),
    },
  )
  const get = async (path: string) => (await app.request(path)).json() as unknown
  expect(await get('/silent')).toEqual({ success: true })
  expect(await get('/talkative')).toEqual({ success: true })
  expect(await get('/text')).toBe('text')
  expect(await get('/forgetful')).toEqual({ detail: 'Internal Server Error' })
  expect(failures).toEqual(['Error: forgetful_forgetful_get returned no response.'])
})
