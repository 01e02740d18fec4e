import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { receiveUIMessages, uiMessageStream } from '../../src/conversation/ui-messages.ts'
import { toUIMessages } from '../../src/messages/ui/write.ts'
import { replay } from '../../src/state/reduce.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Event } from '../../src/event/types.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { digestOf } from '../../src/event/sha-256.ts'
import { blobText } from '../../src/event/text.ts'
import { type Client, clientOver, STORES } from './client.ts'
import { caughtUp, type Envelope, ENVELOPE, liveFixtureOfTest } from './live-fixture.ts'

const KEY = 'key'
const IMAGE = `data:image/png;base64,${'QUJD'.repeat(70_000)}`
const PAGE = '<script>alert(1)</script>'.repeat(4_000)
const REFERENCE = blobText(digestOf(IMAGE).hash)

const SEALED = 'e'.repeat(70_000)
const JSON_TEXT = `{"pad":"${'x'.repeat(300_000)}","encrypted\\u005fcontent":"sealed"}`

const imageMessage = (id: string, url: string, text: string): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ text }, { image_urls: ['https://a.b/c.png', url] }] },
})

const LOG: readonly Event[] = [
  ...Array.from({ length: 97 }, (_, i) => imageMessage(`m${i}`, IMAGE, `See ${i}`)),
  imageMessage('page', PAGE, REFERENCE),
  {
    kind: 'MessageEvent',
    id: 'secret',
    source: 'agent',
    llm_message: {
      role: 'assistant',
      content: [{ text: JSON_TEXT }],
      responses_reasoning_item: { id: 'r', summary: [], encrypted_content: SEALED },
    },
  },
  { kind: 'PauseEvent', id: 'p' },
]

interface Page {
  readonly items: readonly Event[]
  readonly next_page_id: string | null
  readonly blobs?: readonly {
    readonly event_id: string
    readonly path: readonly (string | number)[]
    readonly hash: string
    readonly bytes: number
  }[]
}

describe.each(Object.keys(STORES))('blobs over %s', (name) => {
  let store: Store
  let client: Client
  const image = digestOf(IMAGE)

  beforeAll(async () => {
    store = STORES[name]?.() as Store
    client = await clientOver(store, { keys: [KEY], headers: { 'x-session-api-key': KEY } })
    await store.createConversation({ id: 'c' })
    await store.createConversation({ id: 'other' })
    await store.append('c', LOG, { mode: 'import', expected: 'none' })
  })
  afterAll(() => store.close())

  const getBlob = (hash: string, headers: Record<string, string> = {}, id = 'c', method = 'GET') =>
    client.service.fetch(
      new Request(`http://localhost/api/conversations/${id}/blobs/${hash}`, {
        method,
        headers: { 'x-session-api-key': KEY, ...headers },
      }),
    )

  it('with blobs=refs, a page of 100 images is below 1 MB and has the path of each reference', async () => {
    for (const path of ['/api/conversations/c/events/search', '/api/v1/conversation/c/events/search']) {
      const { body } = await client.get<Page>(path, { blobs: 'refs' })
      expect(body.items).toHaveLength(100)
      expect(JSON.stringify(body).length).toBeLessThan(1_000_000)
      expect(JSON.stringify(body)).not.toContain('encrypted_content":"')
      const imagePath = ['llm_message', 'content', 1, 'image_urls', 1]
      const expected = LOG.slice(0, 98).map(({ id }) => ({
        event_id: id,
        path: imagePath,
        ...digestOf(id === 'page' ? PAGE : IMAGE),
      }))
      const json = {
        event_id: 'secret',
        path: ['llm_message', 'content', 0, 'text'],
        ...digestOf(JSON_TEXT),
      }
      expect(body.blobs).toEqual([...expected, json])
      const whole = await client.get<Page>(path, { limit: 2 })
      expect(whole.body.items.map((event) => JSON.stringify(event))).toEqual(
        body.items.slice(0, 2).map((event) => JSON.stringify(event).replace(REFERENCE, IMAGE)),
      )
      expect(whole.body).not.toHaveProperty('blobs')
      expect((await client.get(path, { blobs: 'some' })).status).toBe(422)
    }
  })

  it('a response is an attachment, not displayed by browsers and cacheable by its hash', async () => {
    const response = await getBlob(digestOf(PAGE).hash)
    expect(response.status).toBe(200)
    expect(await response.text()).toBe(PAGE)
    const { hash, bytes } = digestOf(PAGE)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'x-content-type-options': 'nosniff',
      'content-disposition': `attachment; filename="${hash}"`,
      'content-security-policy': "sandbox; default-src 'none'",
      'cache-control': 'private, max-age=86400, immutable',
      'content-length': String(bytes),
      etag: `"${hash}"`,
    })
    for (const tag of [`"${hash}"`, `W/"${hash}"`, `"x", "${hash}"`, '*']) {
      const unchanged = await getBlob(hash, { 'if-none-match': tag })
      expect([unchanged.status, await unchanged.text()]).toEqual([304, ''])
    }
    expect((await getBlob(hash, { 'if-none-match': '"x"' })).status).toBe(200)
    const head = await getBlob(hash, {}, 'c', 'HEAD')
    expect([head.status, await head.text(), head.headers.get('content-length')]).toEqual([
      200,
      '',
      String(bytes),
    ])
  })

  it.each([
    ['bytes=0-9', 0, 10],
    ['bytes=279990-', 279_990, image.bytes],
    ['bytes=-5', image.bytes - 5, image.bytes],
    ['bytes=262140-262150', 262_140, 262_151],
    [`bytes=1-${10 * IMAGE.length}`, 1, image.bytes],
    ['bytes = 3 - 4', 3, 5],
  ])('the range %s gets 206 with only its bytes', async (range, start, end) => {
    const response = await getBlob(image.hash, { range })
    expect(response.status).toBe(206)
    expect(await response.text()).toBe(IMAGE.slice(start, end))
    expect(response.headers.get('content-range')).toBe(`bytes ${start}-${end - 1}/${image.bytes}`)
    expect(response.headers.get('content-length')).toBe(String(end - start))
  })

  it.each(['bytes=0-1,4-5', 'bytes=5-2', 'bytes=-', 'lines=0-1', 'bytes=a-b', ''])(
    'the range %j, invalid or not single, gets the whole blob',
    async (range) => {
      const response = await getBlob(image.hash, { range })
      expect([response.status, (await response.text()).length]).toEqual([200, IMAGE.length])
    },
  )

  it('a range beyond the end gets 416, and an old If-Range gets the whole blob', async () => {
    for (const range of [`bytes=${image.bytes}-`, 'bytes=-0']) {
      const response = await getBlob(image.hash, { range })
      expect([response.status, response.headers.get('content-range')]).toEqual([
        416,
        `bytes */${image.bytes}`,
      ])
    }
    expect((await getBlob(image.hash, { range: 'bytes=0-1', 'if-range': '"old"' })).status).toBe(200)
    expect((await getBlob(image.hash, { range: 'bytes=0-1', 'if-range': `"${image.hash}"` })).status).toBe(
      206,
    )
  })

  it('encrypted content in a JSON text is null, as in pages of events', async () => {
    const { body } = await client.get<Event>('/api/conversations/c/events/secret')
    const page = JSON.stringify(body)
    expect(page).not.toContain('sealed')
    const response = await getBlob(digestOf(JSON_TEXT).hash)
    const text = await response.text()
    expect(text).toBe(JSON_TEXT.replace('"sealed"', 'null'))
    expect(page).toContain(JSON.stringify(text))
    const part = await getBlob(digestOf(JSON_TEXT).hash, { range: 'bytes=300000-' })
    expect(await part.text()).toBe(text.slice(300_000))
  })

  it('a wrong key gets 401, and a wrong hash or another conversation 404', async () => {
    expect((await getBlob(image.hash, { 'x-session-api-key': 'wrong' })).status).toBe(401)
    for (const [hash, id] of [
      [image.hash, 'other'],
      [image.hash, 'none'],
      ['0'.repeat(64), 'c'],
      [image.hash.toUpperCase(), 'c'],
      ['..%2f..', 'c'],
    ] as const)
      expect((await getBlob(hash, { 'if-none-match': `"${hash}"` }, id)).status).toBe(404)
    await store.createConversation({ id: 'gone' })
    await store.append('gone', [imageMessage('m', IMAGE, '')])
    expect((await getBlob(image.hash, {}, 'gone')).status).toBe(200)
    await store.deleteConversation('gone')
    expect((await getBlob(image.hash, {}, 'gone')).status).toBe(404)
  })
})

it('a socket with blobs=refs gets references, and a socket without it whole strings', async () => {
  const fixture = await liveFixtureOfTest()
  const conversation = await fixture.conversation()
  await conversation.append([imageMessage('old', IMAGE, 'old')])
  const whole = fixture.connect('c', { query: { ...ENVELOPE, resend_mode: 'all' } })
  const refs = fixture.connect('c', { query: { ...ENVELOPE, resend_mode: 'all', blobs: 'refs' } })
  await caughtUp(whole)
  await caughtUp(refs)
  await conversation.append([imageMessage('new', IMAGE, 'new')])
  for (const id of ['old', 'new']) {
    const [event, small] = await Promise.all(
      [whole, refs].map((client) => client.find<Envelope>((frame) => frame.event.id === id)),
    )
    expect(JSON.stringify(event)).toContain(IMAGE)
    expect(event).not.toHaveProperty('blobs')
    expect(JSON.stringify(small).length).toBeLessThan(1_000)
    expect(small).toMatchObject({
      event: { llm_message: { content: [{ text: id }, { image_urls: ['https://a.b/c.png', REFERENCE] }] } },
      blobs: [{ path: ['llm_message', 'content', 1, 'image_urls', 1], ...digestOf(IMAGE) }],
    })
  }
})

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d', 'hex'), randomBytes(60_000)])
const PNG_URL = `data:image/png;base64,${PNG.toString('base64')}`
const PDF = Buffer.concat([Buffer.from('%PDF-1.7'), randomBytes(60_001)])
const PHOTO = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), randomBytes(60_002)])

const CHAT: readonly Event[] = [
  ...Array.from({ length: 96 }, (_, i) => imageMessage(`m${i}`, PNG_URL, `See ${i}`)),
  {
    kind: 'MessageEvent',
    id: 'files',
    source: 'user',
    llm_message: {
      role: 'user',
      content: [
        { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf', data: PDF.toString('base64') },
        { type: 'image-data', mediaType: 'image/jpeg', data: PHOTO.toString('base64') },
        { text: 'x'.repeat(70_000) },
      ],
    },
  },
  {
    kind: 'ActionEvent',
    id: 'a',
    source: 'agent',
    tool_name: 'shot',
    tool_call_id: 't',
    llm_response_id: 'r',
    thought: [],
    action: { kind: 'ShotAction' },
    tool_call: { id: 't', name: 'shot', arguments: '{}', origin: 'completion' },
  },
  {
    kind: 'ObservationEvent',
    id: 'o',
    source: 'environment',
    tool_name: 'shot',
    tool_call_id: 't',
    action_id: 'a',
    observation: { kind: 'ShotObservation', content: [{ text: 'Seen' }, { image_urls: [PNG_URL] }] },
  },
  { kind: 'PauseEvent', id: 'p' },
]

const addressesIn = (value: unknown): string[] =>
  Array.from(JSON.stringify(value).matchAll(/"(\/api\/[^"]*)"/g), ([, address = '']) => address)

it.each(Object.keys(STORES))(
  'over %s, 100 UI messages with references are below 1 MB, and the references load',
  async (name) => {
    const store = STORES[name]?.() as Store
    const client = await clientOver(store)
    const conversation = await client.engine.create({ id: 'a b' })
    await conversation.append(CHAT)
    const messages = await conversation.read((state) => toUIMessages(state, { blobs: 'refs' }))
    expect(JSON.stringify(messages).length).toBeLessThan(1_000_000)
    expect(JSON.stringify(await conversation.read((state) => toUIMessages(state))).length).toBeGreaterThan(
      7_000_000,
    )
    expect(JSON.stringify(messages)).toContain('x'.repeat(70_000))
    const addresses = addressesIn(messages)
    expect(addresses).toHaveLength(96 + 2 + 1)
    const loaded = new Map<string, Buffer>()
    for (const address of new Set(addresses)) {
      const response = await client.service.fetch(new Request(`http://localhost${address}`))
      const type = response.headers.get('content-type') ?? ''
      expect(response.headers.get('content-security-policy')).toContain('sandbox')
      loaded.set(type, Buffer.from(await response.arrayBuffer()))
      const etag = response.headers.get('etag') ?? ''
      const again = new Request(`http://localhost${address}`, { headers: { 'if-none-match': etag } })
      expect((await client.service.fetch(again)).status).toBe(304)
    }
    expect([...loaded.keys()].toSorted()).toEqual(['application/octet-stream', 'image/jpeg', 'image/png'])
    expect(loaded.get('image/png')?.equals(PNG)).toBe(true)
    expect(loaded.get('image/jpeg')?.equals(PHOTO)).toBe(true)
    expect(loaded.get('application/octet-stream')?.equals(PDF)).toBe(true)

    const chunks: unknown[] = []
    for await (const chunk of uiMessageStream(conversation, {
      to: 'files',
      blobs: 'refs',
      service: 'https://a.b',
    }))
      chunks.push(chunk)
    expect(JSON.stringify(chunks).length).toBeLessThan(2_000)
    expect(JSON.stringify(chunks)).toContain(`https://a.b${addresses[0]}`)

    const references = replay(
      (await store.read('a b', { blobs: 'refs', limit: 100 })).map(({ fact }) => fact),
      {
        conversationId: 'a b',
      },
    )
    expect(addressesIn(toUIMessages(references, { blobs: 'refs' }))).toEqual(addresses)
    await client.engine.close()
    await store.close()
  },
)

it('a UI message with references keeps its image when it is posted again or edited', async () => {
  const engine = createEngine({ store: memoryStore() })
  const conversation = await engine.create({ id: 'c' })
  const options = { blobs: 'refs' } as const
  const first = [
    { type: 'text', text: 'See' },
    { type: 'file', mediaType: 'image/png', url: PNG_URL },
  ]
  await receiveUIMessages(conversation, { messages: [{ id: 'm', role: 'user', parts: first }] }, options)
  const [message] = await conversation.read((state) => toUIMessages(state, options))
  const posted = { messages: [message], trigger: 'submit-message' }
  expect(await receiveUIMessages(conversation, posted, options)).toEqual({ to: 'm' })
  expect(await conversation.read(({ log }) => log.entries.length)).toBe(1)
  const parts = (message?.parts ?? []).map((part) =>
    part.type === 'text' ? { ...part, text: 'Look' } : part,
  )
  const edited = { messages: [{ ...message, parts }], messageId: 'm', trigger: 'submit-message' }
  const { to } = await receiveUIMessages(conversation, edited, options)
  const event = (await engine.store.get('c', to ?? ''))?.fact
  expect(JSON.stringify(event)).toContain(PNG_URL)
  expect(JSON.stringify(event)).toContain('Look')
  await engine.close()
})

it.each([
  ['text that is not base64', 'x,'.repeat(40_000)],
  ['a data URL of text', `data:text/plain,${'x'.repeat(70_000)}`],
  ['a data URL of HTML', `data:text/html;base64,${btoa(PAGE)}`],
  ['a data URL of HTML labelled as an image', `data:image/png;base64,${btoa(PAGE)}`],
])('with decode=true, %s gets 422 or no type that browsers display', async (name, text) => {
  const client = await clientOver(memoryStore())
  await client.engine.store.createConversation({ id: 'c' })
  await client.engine.store.append('c', [imageMessage('m', text, '')])
  const { hash } = digestOf(text)
  const response = await client.service.fetch(
    new Request(`http://localhost/api/conversations/c/blobs/${hash}?decode=true`),
  )
  if (text.includes('base64')) {
    expect(response.headers.get('content-type')).toBe('application/octet-stream')
    expect(await response.text()).toBe(PAGE)
  } else expect(response.status, name).toBe(422)
})
