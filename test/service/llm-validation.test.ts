import { describe, expect, it } from 'vitest'
import { validateLlm } from '../../src/service/settings/validate.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { KEY, LLM, profile, SECRET, settingsFixture, type Json } from './settings-fixture.ts'

const { begin, provider, send } = settingsFixture()

/** OpenAI's errors for its reasoning models. */
const UNSUPPORTED = {
  message:
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  param: 'max_tokens',
  code: 'unsupported_parameter',
}
const OUTPUT_LIMIT = {
  message: 'Could not finish the message because max_tokens or model output limit was reached.',
}

describe('validating an LLM', () => {
  it.each([
    [200, true, null],
    [429, true, null],
    [401, false, 'AuthenticationError'],
    [403, false, 'PermissionDeniedError'],
    [404, false, 'NotFoundError'],
    [400, false, 'BadRequestError'],
    [503, false, 'ServiceUnavailableError'],
    [302, false, 'APIError'],
  ])('for a provider status %i, returns valid: %s and the error %s', async (status, valid, type) => {
    await begin()
    const seen: unknown[] = []
    const base_url = await provider(async (request, response) => {
      let text = ''
      for await (const chunk of request) text += String(chunk)
      seen.push([request.url, request.headers.authorization, JSON.parse(text)])
      response.writeHead(status, { location: `/${encodeURIComponent(KEY)}` })
      response.end(
        JSON.stringify(status === 200 ? { choices: [] } : { error: `Incorrect API key provided: ${KEY}` }),
      )
    })
    const { status: answered, body } = await send('POST', profile('x', '/validate'), {
      llm: { ...LLM, base_url },
    })
    expect([answered, body['valid'], (body['error'] as Json | null)?.['type'] ?? null]).toEqual([
      200,
      valid,
      type,
    ])
    expect(JSON.stringify(body)).not.toContain('very')
    expect(seen).toEqual([
      ['/v1/chat/completions', `Bearer ${KEY}`, expect.objectContaining({ model: 'gpt-x', max_tokens: 1 })],
    ])
  })

  it.each([
    ['accepts another limit', 200, {}, true],
    ['reasons for longer than the limit', 400, OUTPUT_LIMIT, true],
    ['does not exist', 404, {}, false],
    ['rejects both limits', 400, UNSUPPORTED, false],
  ])('retries with `max_completion_tokens` for a model that %s', async (_name, status, error, valid) => {
    await begin()
    const limits: unknown[] = []
    const base_url = await provider(async (request, response) => {
      let text = ''
      for await (const chunk of request) text += String(chunk)
      const { max_tokens, max_completion_tokens } = JSON.parse(text) as Json
      limits.push([max_tokens, max_completion_tokens])
      response.writeHead(max_tokens === undefined ? status : 400)
      response.end(JSON.stringify(max_tokens === undefined ? { choices: [], error } : { error: UNSUPPORTED }))
    })
    const { body } = await send('POST', profile('x', '/validate'), { llm: { ...LLM, base_url } })
    expect([body['valid'], limits]).toEqual([
      valid,
      [
        [1, undefined],
        [undefined, 16],
      ],
    ])
  })

  it.each([
    ['{}'],
    ['null'],
    ['<html>It works!</html>'],
    [`{"choices":"${KEY}"}`],
    [''],
    [`{"choices":[],"more":"${'x'.repeat(2 ** 18)}"}`],
  ])('rejects a response without choices: %.30s', async (reply) => {
    await begin()
    const base_url = await provider((_request, response) => void response.end(reply))
    const { body } = await send('POST', profile('x', '/validate'), { llm: { ...LLM, base_url } })
    expect(body).toEqual({
      valid: false,
      error: { type: 'APIError', message: expect.stringContaining('no choices') },
    })
    expect(JSON.stringify(body)).not.toContain('very')
  })

  it('accepts a provider that times out, and rejects one that it cannot reach', async () => {
    await begin(memoryStore(), {
      secret: SECRET,
      askLlm: (_llm, signal) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        ),
    })
    expect(await validateLlm(LLM, () => new Promise(() => undefined), 30)).toEqual({
      valid: true,
      error: null,
    })
    await begin()
    for (const [base_url, type] of [
      ['http://127.0.0.1:9/', 'APIConnectionError'],
      [LLM.base_url, 'BadRequestError'],
      ['file:///etc/passwd', 'BadRequestError'],
      [undefined, 'BadRequestError'],
    ]) {
      const { body } = await send('POST', profile('x', '/validate'), {
        llm: { model: 'm', api_key: KEY, base_url },
      })
      expect(body).toMatchObject({ valid: false, error: { type } })
      expect(JSON.stringify(body)).not.toContain('very')
    }
  })

  it('masks every form of the key in an error of `askLlm`', async () => {
    const forms = [KEY, encodeURIComponent(KEY), JSON.stringify({ KEY }), btoa(KEY), `Bearer ${KEY}`]
    await begin(memoryStore(), {
      secret: SECRET,
      askLlm: async () => {
        throw Object.assign(new Error(`refused: ${forms.join(' , ')}`), { name: `Bad${KEY}` })
      },
    })
    const { status, body } = await send('POST', profile('x', '/validate'), { llm: LLM })
    expect(status).toBe(200)
    for (const form of ['very', btoa(KEY).slice(0, 12), encodeURIComponent(KEY)])
      expect(JSON.stringify(body)).not.toContain(form)
    expect(JSON.stringify(body)).toContain('refused')
  })

  it.each<[string, string]>([
    ['its first and last characters', `${KEY.slice(0, 9)}****${KEY.slice(-9)}`],
    ['a lowercase escape', encodeURIComponent(KEY).toLowerCase()],
    ['a double escape', JSON.stringify(JSON.stringify(KEY))],
    ['hexadecimal escapes', [...KEY].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('')],
    ['basic credentials', `Basic ${btoa(`user:${KEY}`)}`],
    ['URL-safe base64', btoa(`{"k":"${KEY}"}`).replaceAll('+', '-').replaceAll('/', '_')],
    ['uppercase', KEY.toUpperCase()],
    ['a truncated end', `${'.'.repeat(490)}${KEY}`],
    ['the password of the URL', 'user s3same'],
    ['a query parameter of the URL', 'a-key-in-a-query'],
    ['a short key', 'zq7'],
  ])('leaves no part of a key in an error that contains %s', async (_, form) => {
    const llm = {
      ...LLM,
      base_url: 'https://user:s3same@host/?api_key=a-key-in-a-query',
      aws_session_token: 'zq7',
    }
    const { error } = await validateLlm(llm, async () => {
      throw new Error(`refused: ${form} .`)
    })
    const report = `${error?.message} ${error?.message.toLowerCase()}`
    for (const size of [6, 12]) {
      for (let index = 0; index + size <= form.length; index += 1) {
        const part = form.slice(index, index + size)
        if (!/^[.*\s]|[.*\s]$|user|crede/.test(part)) expect(report).not.toContain(part)
      }
    }
    expect(report).not.toContain('zq7')
  })

  it('returns an error without a key unchanged', async () => {
    const { error } = await validateLlm(LLM, async () => {
      throw new TypeError('There is no model of this name.')
    })
    expect(error).toEqual({ type: 'TypeError', message: 'There is no model of this name.' })
  })

  it('masks a key although another key is short and padded with spaces', async () => {
    const { error } = await validateLlm({ ...LLM, aws_session_token: '   zq7   ' }, async () => {
      throw new Error(`refused: ${KEY} .`)
    })
    expect(error?.message).toBe('refused: [redacted] .')
  })

  it('uses the stored profile when the request has no body', async () => {
    const requests: unknown[] = []
    await begin(memoryStore(), { secret: SECRET, askLlm: async (llm) => void requests.push(llm) })
    await send('POST', profile('a'), { llm: LLM })
    expect((await send('POST', profile('a', '/validate'))).body).toEqual({ valid: true, error: null })
    expect(requests).toEqual([LLM])
    expect((await send('POST', profile('b', '/validate'))).status).toBe(404)
  })
})
