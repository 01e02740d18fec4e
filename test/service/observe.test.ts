import { type Context, propagation, trace, type Tracer, type TracerProvider } from '@opentelemetry/api'
import { afterEach, describe, expect, it } from 'vitest'
import type { Step } from '../../src/conversation/run/step.ts'
import type { Event } from '../../src/event/types.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { type LeftOut, requestRecord } from '../../src/messages/prefix.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { Metrics } from '../../src/service/observe/metrics.ts'
import type { RequestLogLine } from '../../src/service/observe/request-log.ts'
import { tracing } from '../../src/service/observe/tracing.ts'
import { clientOver } from './client.ts'
import { liveFixture } from './live-fixture.ts'

describe('the request log', () => {
  it('has a line for each request, with the request id of the response', async () => {
    const lines: RequestLogLine[] = []
    const client = await clientOver(memoryStore(), { log: (line) => lines.push(line), keys: ['the-key'] })
    lines.length = 0
    const one = await client.send('/api/shared-events/search?conversation_id=private-search-text')
    const two = await client.send('/api/keys', {
      headers: { 'x-session-api-key': 'wrong-key', 'x-request-id': 'mine-1' },
    })
    const three = await client.send('/nowhere', { headers: { 'x-request-id': 'no good id' } })
    const ids = [one, two, three].map(({ headers }) => headers.get('x-request-id'))
    expect(lines).toMatchObject([
      {
        level: 'info',
        message: 'request',
        method: 'GET',
        path: '/api/shared-events/search',
        operation: 'search_shared_events_api_shared_events_search_get',
        status: 200,
      },
      { path: '/api/keys', status: 401 },
      { path: '/nowhere', operation: 'none', status: 404 },
    ])
    expect(lines.map((line) => line.request_id)).toEqual(ids)
    expect(ids[1]).toBe('mine-1')
    expect(new Set(ids).size).toBe(3)
    expect(ids[2]).toMatch(/^[0-9a-f-]{36}$/)
    expect(
      lines.every(({ time, milliseconds }) => !Number.isNaN(Date.parse(time)) && Number(milliseconds) >= 0),
    ).toBe(true)
    expect(JSON.stringify(lines)).not.toMatch(/the-key|wrong-key|private-search-text/)
  })

  it('has a line for each closed socket, with the request id of the upgrade', async () => {
    const lines: RequestLogLine[] = []
    const fixture = await liveFixture({ log: (line) => lines.push(line), keys: ['the-key'] })
    await fixture.conversation()
    const upgraded: unknown[] = []
    const wrong = fixture.connect('c', { headers: { 'x-session-api-key': 'wrong-key' } })
    await expect(wrong.raw).rejects.toThrow('401')
    const elsewhere = fixture.connect('c', {
      protocol: 'elsewhere' as never,
      headers: { 'x-request-id': 'mine-1' },
    })
    await expect(elsewhere.raw).rejects.toThrow('404')
    const { socket, closed } = fixture.connect('c', {
      headers: { 'x-session-api-key': 'the-key', 'x-request-id': 'mine-2' },
    })
    socket.once('upgrade', (response) => upgraded.push(response.headers['x-request-id']))
    socket.once('message', () => socket.close(1_000))
    await closed
    await expect.poll(() => lines.length).toBe(3)
    expect(lines).toMatchObject([
      { message: 'socket', path: '/sockets/events/c', status: 401 },
      { message: 'socket', path: '/sockets/elsewhere/c', status: 404, request_id: 'mine-1' },
      { message: 'socket', path: '/sockets/events/c', status: 101, close_code: 1_000, request_id: 'mine-2' },
    ])
    expect(upgraded[0]).toBe('mine-2')
    expect(JSON.stringify(lines)).not.toMatch(/the-key|wrong-key/)
    await fixture.end()
  })

  it('contains a failure with its request id, and the client gets only a 500', async () => {
    const lines: RequestLogLine[] = []
    const failures: [unknown, string][] = []
    const store = { ...memoryStore(), search: () => Promise.reject(new Error('the disk is on fire')) }
    await store.createConversation({ id: 'c', public: true })
    const { service } = await clientOver(store, {
      log: (line) => lines.push(line),
      onFailure: (error, _request, id) => failures.push([error, id]),
    })
    const response = await service.fetch(
      new Request('http://localhost/api/shared-events/search?conversation_id=c'),
    )
    expect([response.status, await response.json()]).toEqual([500, { detail: 'Internal Server Error' }])
    expect(lines.at(-1)).toMatchObject({
      level: 'error',
      status: 500,
      request_id: response.headers.get('x-request-id'),
    })
    expect(failures).toEqual([[new Error('the disk is on fire'), response.headers.get('x-request-id')]])
  })
})

/** Replies with signed parts, after reporting the request's prefix. */
const step: Step = function* ({ messages, onPrefix, after }) {
  const { leftOut: _, ...record } = requestRecord(toAnthropic(messages, { onPrefix })) ?? { leftOut: [] }
  const thinking_blocks = [1, 2].map((n) => ({ thinking: `thought ${n}`, signature: `signed ${n}` }))
  const reply = { ...record, after }
  const llm_message = { role: 'assistant', content: [{ text: 'Well.' }], thinking_blocks, reply } as const
  yield { kind: 'MessageEvent', source: 'agent', llm_message }
}

const prompt = (text: string): Event => ({
  kind: 'SystemPromptEvent',
  system_prompt: { text },
  tools: [],
})

describe('the metrics', () => {
  it('count requests by operation and status, and need a key', async () => {
    const client = await clientOver(memoryStore(), { keys: ['k'] })
    for (let i = 0; i < 3; i += 1) await client.get('/api/shared-events/search', { conversation_id: 'c' })
    await client.get('/api/shared-events/search')
    expect((await client.send('/metrics')).status).toBe(401)
    const { body, headers } = await client.send<string>('/metrics', {
      headers: { authorization: 'Bearer k' },
    })
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    const search = 'operation="search_shared_events_api_shared_events_search_get"'
    expect(body).toContain(`colloquy_http_requests_total{${search},status="200"} 3\n`)
    expect(body).toContain(`colloquy_http_requests_total{${search},status="422"} 1\n`)
    expect(body).toContain(`colloquy_http_request_duration_seconds_bucket{${search},le="+Inf"} 4\n`)
    expect(body).toContain(`colloquy_http_request_duration_seconds_count{${search}} 4\n`)
    // The metrics request itself.
    expect(body).toContain('colloquy_http_requests_in_flight 1\n')
    for (const line of body.trim().split('\n'))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? [\d.e+-]+)$/)
  })

  it('count omitted signed parts by reason, and `onPrefix` reports them', async () => {
    const reported: LeftOut[] = []
    const run = { onPrefix: (leftOut: LeftOut) => void reported.push(leftOut) }
    const { engine, get, service } = await clientOver(memoryStore(), { agent: () => step, run })
    const conversation = await engine.create()
    const say = async (...events: Event[]): Promise<string> => {
      for (const event of events) await conversation.append(event)
      await conversation.sendMessage('Go on.')
      await service.runs.start(conversation, 1)
      await service.runs.settle()
      const { body } = await get<string>('/metrics')
      return (body.match(/^colloquy_signed_parts_left_out_total.*$/gm) ?? []).join(' ')
    }
    expect(await say(prompt('Be brief.'))).toBe('')
    expect(await say()).toBe('')
    expect(await say(prompt('Be kind.'))).toBe('colloquy_signed_parts_left_out_total{reason="prefix"} 4')
    expect(await say()).toBe('colloquy_signed_parts_left_out_total{reason="prefix"} 8')
    expect(reported.map(({ reason, parts }) => [reason, parts])).toEqual(reported.map(() => ['prefix', 2]))
    expect(reported).toHaveLength(4)
    await engine.close()
  })

  it('are written in the Prometheus format, with a maximum number of series', () => {
    const metrics = new Metrics()
    const counter = metrics.counter('c_total', 'Things.')
    counter.record(1, { name: 'a"b\\c\nd' })
    counter.record(2, { name: 'a"b\\c\nd' })
    metrics.measured('g', 'Now.', () => -1)
    const times = metrics.histogram('h', 'Times.', [1, 2])
    for (const value of [0.5, 1, 1.5, 7]) times.record(value, { a: 'b' })
    expect(metrics.text()).toBe(
      [
        '# HELP c_total Things.',
        '# TYPE c_total counter',
        String.raw`c_total{name="a\"b\\c\nd"} 3`,
        '# HELP g Now.',
        '# TYPE g gauge',
        'g -1',
        '# HELP h Times.',
        '# TYPE h histogram',
        'h_bucket{a="b",le="1"} 2',
        'h_bucket{a="b",le="2"} 3',
        'h_bucket{a="b",le="+Inf"} 4',
        'h_sum{a="b"} 10',
        'h_count{a="b"} 4',
        '',
      ].join('\n'),
    )
    for (let i = 0; i < 10_000; i += 1) counter.record(1, { name: String(i) })
    expect(metrics.text().split('\n').length).toBeLessThan(2_100)
    const sum = metrics.text().matchAll(/^c_total\S* (\d+)$/gm)
    expect([...sum].reduce((all, [, value]) => all + Number(value), 0)).toBe(10_003)
  })
})

interface Recorded {
  readonly name: string
  readonly options: { readonly kind?: number; readonly attributes?: Readonly<Record<string, unknown>> }
  readonly parent: string | undefined
  readonly attributes: Record<string, unknown>
  code: number | null
  ended: number
}

/** Registers a provider that records its spans behind the public OpenTelemetry API. */
function record(): Recorded[] {
  const spans: Recorded[] = []
  const tracer = {
    startSpan(name: string, options: Recorded['options'], context: Context) {
      const span: Recorded = {
        name,
        options,
        parent: trace.getSpanContext(context)?.traceId,
        attributes: {},
        code: null,
        ended: 0,
      }
      spans.push(span)
      return {
        spanContext: () => ({ traceId: '', spanId: '', traceFlags: 0 }),
        setAttribute: (key: string, value: unknown) => void (span.attributes[key] = value),
        setStatus: ({ code }: { code: number }) => void (span.code = code),
        recordException: () => undefined,
        end: () => void (span.ended += 1),
      }
    },
  } as unknown as Tracer
  trace.setGlobalTracerProvider({ getTracer: () => tracer } as TracerProvider)
  propagation.setGlobalPropagator({
    fields: () => ['traceparent'],
    inject: () => undefined,
    extract(context, carrier, getter) {
      const [, traceId = '', spanId = ''] = String(getter.get(carrier, 'traceparent')).split('-')
      return spanId === '' ? context : trace.setSpanContext(context, { traceId, spanId, traceFlags: 1 })
    },
  })
  return spans
}

const work = async (): Promise<Response> => new Response('fine')

describe('spans', () => {
  afterEach(() => {
    trace.disable()
    propagation.disable()
  })

  it('cover each request, and continue the trace of its `traceparent` header', async () => {
    const spans = record()
    const store = { ...memoryStore(), count: () => Promise.reject(new Error('broken')) }
    const { service } = await clientOver(store, { onFailure: () => undefined })
    spans.length = 0
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const ask = (path: string, headers = {}) =>
      service.fetch(new Request(`http://localhost${path}`, { headers }))
    await ask('/api/shared-events/c/e', { traceparent: `00-${traceId}-b7ad6b7169203331-01` })
    await ask('/api/shared-events/search')
    await store.createConversation({ id: 'c', public: true })
    await ask('/api/shared-events/count?conversation_id=c')
    expect(spans).toMatchObject([
      {
        name: 'GET /api/shared-events/{conversation_id}/{event_id}',
        options: {
          kind: 1,
          attributes: {
            'http.request.method': 'GET',
            'http.route': '/api/shared-events/{conversation_id}/{event_id}',
            'url.path': '/api/shared-events/c/e',
          },
        },
        parent: traceId,
        attributes: { 'http.response.status_code': 200 },
        code: null,
        ended: 1,
      },
      { parent: undefined, attributes: { 'http.response.status_code': 422 }, code: null, ended: 1 },
      { attributes: { 'http.response.status_code': 500 }, code: 2, ended: 1 },
    ])
  })

  it('are not created when the OpenTelemetry API is not installed', async () => {
    const around = tracing(async () => null)
    const response = await around(new Request('http://localhost/'), {} as never, work)
    expect(await response.text()).toBe('fine')
  })
})
