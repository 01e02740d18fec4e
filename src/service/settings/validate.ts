/** The configuration of a model goes in, whether it can be asked comes out, in words that hold no secret. */

import type { JsonObject } from '../../event/shapes.ts'
import { secretsIn, without } from './secrets.ts'

/** Asks a model for next to nothing; rejects when it cannot be asked. */
export type AskLlm = (llm: JsonObject, signal: AbortSignal) => Promise<void>

/** How a validation ends. */
export interface Validation {
  readonly valid: boolean
  readonly error: { readonly type: string; readonly message: string } | null
}

/** A refusal in fixed words: what a provider answers may quote the key, whole or in part. */
class Refusal extends Error {
  readonly type: string

  constructor(type: string, message: string) {
    super(message)
    this.type = type
  }
}

/** Milliseconds that an answer is waited for. */
const PATIENCE = 10_000

/** Whether a model can be asked. A provider that is slow, or has been asked too often, was reached and knows the key. Never rejects. */
export async function validateLlm(llm: JsonObject, ask: AskLlm, patience = PATIENCE): Promise<Validation> {
  const signal = AbortSignal.timeout(patience)
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
    const secrets = secretsIn(llm)
    const type = error instanceof Refusal ? error.type : error instanceof Error ? error.name : 'Error'
    const message = error instanceof Error ? error.message : 'The model cannot be asked.'
    return {
      valid: false,
      error: { type: without(type, secrets), message: without(message, secrets).slice(0, 500) },
    }
  }
}

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError'

/** Asks as the Chat Completions interface has it, which most providers speak, at the configuration's `base_url`, for one token. */
export const askChatCompletions: AskLlm = async (llm, signal) => {
  const { base_url: base, model, api_key: key, extra_headers: extra } = llm
  if (typeof base !== 'string' || !/^https?:\/\//i.test(base) || !URL.canParse(base)) {
    throw new Refusal('BadRequestError', 'There is no base_url of http or https to ask at.')
  }
  const url = new URL(base)
  if (url.username !== '' || url.password !== '') {
    throw new Refusal('BadRequestError', 'The base_url must hold no user: the key has a field of its own.')
  }
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/chat/completions`
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
  void response.body?.cancel().catch(() => undefined)
  const { status } = response
  if (response.ok || status === 429) return
  throw new Refusal(TYPES[status] ?? 'APIError', `The provider answered ${status}${WHY[status] ?? ''}.`)
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
