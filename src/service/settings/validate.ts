/** Asks a model whether its configuration works; what is sent of a failure holds no secret. */

import type { JsonObject } from '../../event/shapes.ts'
import { harmless } from './harmless.ts'
import { secretsIn } from '../conversations/secrets.ts'

/**
 * Asks a model for next to nothing; rejects when it cannot be asked. The configuration is what a client gave: where its
 * `base_url` leads is for the implementer to bound.
 */
export type AskLlm = (llm: JsonObject, signal: AbortSignal) => Promise<void>

/** How a validation ends. */
export interface Validation {
  readonly valid: boolean
  readonly error: { readonly type: string; readonly message: string } | null
}

/** A refusal in fixed words: a provider's response may quote the key, whole or in part. */
class Refusal extends Error {
  readonly type: string

  constructor(type: string, message: string) {
    super(message)
    this.type = type
  }
}

/** Milliseconds that a response is waited for. */
const TIMEOUT = 10_000

/**
 * Whether a model can be asked. A provider that is slow, or has been asked too often, was reached and knows the key.
 * Never rejects.
 */
export async function validateLlm(llm: JsonObject, ask: AskLlm, timeout = TIMEOUT): Promise<Validation> {
  const signal = AbortSignal.timeout(timeout)
  try {
    await Promise.race([
      ask(llm, signal),
      new Promise<never>((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      ),
    ])
    return { valid: true, error: null }
  } catch (error) {
    if (signal.aborted || isTimeout(error)) return { valid: true, error: null }
    if (error instanceof Refusal) return refused(error.type, error.message)
    if (!(error instanceof Error)) return refused('Error', UNTOLD)
    const secrets = secretsIn(llm)
    const type = /^\w{1,64}$/.test(error.name) ? harmless(error.name, secrets) : null
    // Cut before it is looked at: half of a secret is one too.
    return refused(type ?? 'Error', harmless(error.message.slice(0, MOST_TOLD), secrets) ?? UNTOLD)
  }
}

const refused = (type: string, message: string): Validation => ({ valid: false, error: { type, message } })

/** Most characters of an error that are sent. */
const MOST_TOLD = 500

const UNTOLD = 'The model cannot be asked; why is not shown here, since it would show something of the key.'

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError'

/**
 * Asks as the Chat Completions interface has it, which most providers speak, at the configuration's `base_url`, for one
 * token. Nothing of the response but its status is sent on, and no redirect is followed. It asks at whatever address a
 * client gives, also in a private network and on this machine, and sends the key there: where clients may not reach
 * what the service can, give `askLlm` of your own.
 */
export const askChatCompletions: AskLlm = async (llm, signal) => {
  const { base_url: base, model, api_key: key, extra_headers: extra } = llm
  if (typeof base !== 'string' || !/^https?:\/\//i.test(base) || !URL.canParse(base)) {
    throw new Refusal('BadRequestError', 'There is no base_url of http or https to ask at.')
  }
  const url = new URL(base)
  if (url.username !== '' || url.password !== '') {
    throw new Refusal('BadRequestError', 'The base_url must hold no user: the key has a field of its own.')
  }
  url.pathname = `${url.pathname.replace(/(?<!\/)\/+$/, '')}/chat/completions`
  let response: Response
  try {
    response = await fetch(url, {
      method: 'POST',
      signal,
      // A key is not carried on to wherever a provider points.
      redirect: 'manual',
      headers: {
        ...(extra as Readonly<Record<string, string>> | null),
        'content-type': 'application/json',
        ...(typeof key === 'string' && key !== '' && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({
        model: String(model).replace(/^openai\//, ''),
        max_tokens: 1,
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    })
  } catch (error) {
    if (signal.aborted) throw error
    throw new Refusal('APIConnectionError', 'The provider cannot be reached at its base_url.')
  }
  const { status } = response
  if (response.ok) return checkReply(response)
  void response.body?.cancel().catch(() => undefined)
  if (status === 429) return
  throw new Refusal(TYPES[status] ?? 'APIError', `The provider responded with ${status}${WHY[status] ?? ''}.`)
}

/** Most bytes of a reply: one token, and what stands around it. */
const MOST_REPLY = 64 * 2 ** 10

/** Whether it is a reply of a model: a server that sends 200 to any request is none. */
async function checkReply(response: Response): Promise<void> {
  let text = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true })
    if (text.length > MOST_REPLY) break
  }
  if (!hasChoices(text)) {
    throw new Refusal(
      'APIError',
      'What responds at the base_url is no model: there are no choices in its reply.',
    )
  }
}

function hasChoices(text: string): boolean {
  try {
    const reply = JSON.parse(text) as { readonly choices?: unknown } | null
    return Array.isArray(reply?.choices)
  } catch {
    return false
  }
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
  401: ': it does not take the key',
  403: ': the key may not do this',
  404: ': it has no such model, or the base_url is another',
}
