/** The served page reads a service's log: whole events, with each long string sent once. */

import { isDeepStrictEqual } from 'node:util'
import { expect, it } from 'vitest'
import type { Event } from '../../src/event/types.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import { blobText } from '../../src/event/text.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { clientOver } from '../service/client.ts'

/** Imported at run time, since it needs browser types, which this project lacks. */
const PAGE = '../../src/inspector/page/service-page.tsx'

type Follow = (id: string, key: string, signal: AbortSignal) => AsyncIterable<{ facts: readonly Fact[] }>

const IMAGE = `data:image/png;base64,${'QUJD'.repeat(250_000)}`

const imageUrlsOf = (content: unknown): unknown => Array.isArray(content) && content[1]?.image_urls

it('the page receives unchanged events, and an image in 60 events only once', async () => {
  const { service, engine } = await clientOver(memoryStore(), { keys: ['key'] })
  const conversation = await engine.create({ id: 'a b' })
  const events = Array.from({ length: 60 }, (_, i): Event => ({
    kind: 'MessageEvent',
    id: `m${i}`,
    source: 'user',
    // Text that looks like a reference must not change.
    llm_message: {
      role: 'user',
      content: [{ text: blobText('0'.repeat(64)) }, { image_urls: [IMAGE] }],
    },
  }))
  await conversation.append(events)
  let sent = 0
  const originalFetch = globalThis.fetch
  globalThis.fetch = async (path, init) => {
    const response = await service.fetch(new Request(new URL(String(path), 'http://localhost/'), init))
    const counting = new TransformStream<Uint8Array, Uint8Array>({
      transform(bytes, controller) {
        sent += bytes.length
        controller.enqueue(bytes)
      },
    })
    return new Response(response.body?.pipeThrough(counting) ?? null, response)
  }
  const aborter = new AbortController()
  try {
    const { followLog } = (await import(PAGE)) as { readonly followLog: Follow }
    for await (const { facts } of followLog('a b', 'key', aborter.signal)) {
      expect(facts).toHaveLength(60)
      const contents = facts.map((fact) => ('llm_message' in fact ? fact.llm_message.content : null))
      // Compared as a boolean, since a failure would print the long text.
      expect(contents.every((content) => isDeepStrictEqual(imageUrlsOf(content), [IMAGE]))).toBe(true)
      expect(JSON.stringify(contents)).toContain(blobText('0'.repeat(64)))
      break
    }
  } finally {
    aborter.abort()
    globalThis.fetch = originalFetch
  }
  expect(sent).toBeLessThan(1.1 * IMAGE.length)
  expect(sent).toBeGreaterThan(IMAGE.length)
  await engine.close()
})
