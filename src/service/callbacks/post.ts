/** A message and a webhook go in; it is sent, signed, and taken by the receiver, or why not is thrown. */

import { signWebhook } from './sign.ts'
import type { Webhook } from './webhook.ts'

/** What is sent. */
export interface Message {
  /** Below the webhook's URL. */
  readonly path: string
  /** The same for each repetition. */
  readonly id: string
  readonly body: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends it once. @throws Error when the receiver does not take it, the signal's reason when that is aborted. */
export async function post(webhook: Webhook, message: Message, signal: AbortSignal): Promise<void> {
  const { url, secret, timeout, headers } = webhook
  const signed = await signWebhook(secret, message.id, Math.floor(Date.now() / 1_000), message.body)
  const response = await fetch(`${url}${message.path}`, {
    method: 'POST',
    body: message.body,
    headers: { ...headers, 'content-type': 'application/json', ...message.headers, ...signed },
    // Where it is sent on to nobody has agreed to.
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
  })
  // Whether it was taken stands in the head; the rest is not read.
  void response.body?.cancel().catch(() => undefined)
  if (!response.ok) throw new Error(`The receiver answered ${response.status}.`)
}
