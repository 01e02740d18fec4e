import { MIN_SECRET } from '../../context/redaction/find-secrets.ts'
import { redactText } from '../../context/redaction/redact-text.ts'
import { redactionRules } from '../../context/redaction/rules.ts'
import { orAborted } from '../../conversation/async.ts'
import { isObject, parseJson } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { secretsIn } from '../mask-secrets.ts'

/**
 * Validates a model's configuration: requests one token from the model, and rejects if the request fails.
 * Because a client sent the configuration, call only hosts that you trust.
 */
export type AskLlm = (llm: JsonObject, signal: AbortSignal) => Promise<void>

interface Validation {
  readonly valid: boolean
  readonly error: { readonly type: string; readonly message: string } | null
}

/** A failure with a fixed message, because a provider's message may quote the key. */
class Refusal extends Error {
  readonly type: string

  constructor(type: string, message: string) {
    super(message)
    this.type = type
  }
}

const TIMEOUT = 10_000

/** Validates a model's configuration. If `ask` times out, the result is valid. Never rejects. */
export async function validateLlm(llm: JsonObject, ask: AskLlm, timeout = TIMEOUT): Promise<Validation> {
  const signal = AbortSignal.timeout(timeout)
  try {
    await orAborted(ask(llm, signal), signal)
    return { valid: true, error: null }
  } catch (error) {
    if (signal.aborted || (error instanceof Error && error.name === 'TimeoutError'))
      return { valid: true, error: null }
    if (error instanceof Refusal) return refused(error.type, error.message)
    if (!(error instanceof Error)) return refused('Error', WITHHELD)
    const secrets = secretsIn(llm)
    const type = /^\w{1,64}$/.test(error.name) ? scrubSecrets(error.name, secrets) : null
    // Shorten the message first: the check for secrets also finds a secret that was cut.
    return refused(type ?? 'Error', scrubSecrets(error.message.slice(0, MAX_MESSAGE), secrets) ?? WITHHELD)
  }
}

const refused = (type: string, message: string): Validation => ({ valid: false, error: { type, message } })

const MAX_MESSAGE = 500

const WITHHELD = 'The model cannot be called. The reason is withheld because it contains part of the key.'

const PART_LENGTH = 5

/** Masks secrets. Returns null if five adjacent characters of a secret remain, in any letter case. */
function scrubSecrets(text: string, secrets: readonly string[]): string | null {
  const values = secrets.map((secret) => secret.trim()).filter((secret) => secret !== '')
  let scrubbed
  try {
    scrubbed = redactText(
      text,
      redactionRules({ secrets: values.filter((value) => value.length >= MIN_SECRET) }),
    )
  } catch {
    // `redactionRules` throws for a secret that is part of every mask. The check below still finds it.
    scrubbed = text
  }
  const lowerCase = scrubbed.toLowerCase()
  const reveals = (secret: string): boolean => {
    const last = Math.max(0, secret.length - PART_LENGTH)
    return Array.from({ length: last + 1 }, (_, i) => secret.slice(i, i + PART_LENGTH)).some((part) =>
      lowerCase.includes(part),
    )
  }
  return values.some((value) => reveals(value.toLowerCase())) ? null : scrubbed
}

/**
 * Calls Chat Completions at `base_url` for one token, or for 16 if the model rejects `max_tokens`. A rate limit
 * (429) counts as success. Errors contain only the status of a response. Follows no redirect. Sends the key to
 * any address, including private networks and this machine. To forbid this, pass your own `askLlm`.
 */
export const askChatCompletions: AskLlm = async (llm, signal) => {
  let response = await send(llm, { max_tokens: 1 }, signal)
  let text = await textOf(response)
  // OpenAI's reasoning models reject `max_tokens`.
  if (response.status === 400 && text.includes('max_completion_tokens')) {
    response = await send(llm, { max_completion_tokens: 16 }, signal)
    text = await textOf(response)
  }
  const { ok, status } = response
  if (ok && !hasChoices(text))
    throw new Refusal('APIError', 'The server at the base_url is not a model: its reply has no choices.')
  // A model whose reasoning exceeds the maximum number of tokens responds with 400.
  if (ok || status === 429 || (status === 400 && text.includes('output limit was reached'))) return
  throw new Refusal(TYPES[status] ?? 'APIError', `The provider responded with ${status}${WHY[status] ?? ''}.`)
}

async function send(llm: JsonObject, limit: JsonObject, signal: AbortSignal): Promise<Response> {
  const { base_url: base, model, api_key: key, extra_headers: extra } = llm
  if (typeof base !== 'string' || !/^https?:\/\//i.test(base) || !URL.canParse(base))
    throw new Refusal('BadRequestError', 'The base_url is missing, or is not an http or https URL.')
  const url = new URL(base)
  if (url.username !== '' || url.password !== '')
    throw new Refusal('BadRequestError', 'The base_url must not have credentials. Send the key as api_key.')
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, '')}/chat/completions`
  try {
    return await fetch(url, {
      method: 'POST',
      signal,
      // A redirect must not receive the key.
      redirect: 'manual',
      headers: {
        ...(extra as Readonly<Record<string, string>> | null),
        'content-type': 'application/json',
        ...(typeof key === 'string' && key !== '' && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({
        model: String(model).replace(/^openai\//, ''),
        ...limit,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    })
  } catch (error) {
    if (signal.aborted) throw error
    throw new Refusal('APIConnectionError', 'The provider cannot be reached at its base_url.')
  }
}

const MAX_REPLY = 64 * 2 ** 10

async function textOf({ ok, status, body }: Response): Promise<string> {
  let text = ''
  if (!ok && status !== 400) {
    void body?.cancel().catch(() => undefined)
    return text
  }
  const decoder = new TextDecoder()
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > MAX_REPLY) break
  }
  return text
}

function hasChoices(text: string): boolean {
  const reply = parseJson(text)
  return isObject(reply) && Array.isArray(reply['choices'])
}

const TYPES: Readonly<Record<number, string>> = {
  400: 'BadRequestError',
  401: 'AuthenticationError',
  403: 'PermissionDeniedError',
  404: 'NotFoundError',
  422: 'BadRequestError',
  500: 'InternalServerError',
  503: 'ServiceUnavailableError',
}

const WHY: Readonly<Record<number, string>> = {
  401: ': it rejects the key',
  403: ': the key lacks permission',
  404: ': it has no such model, or the base_url is wrong',
}
