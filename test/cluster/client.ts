/** An HTTP client process: sends messages with keys, and retries a failed request at another service. */

import { retry, emit, work, type Worker } from './rounds.ts'

const [key = '', ...services] = process.argv.slice(2)

/** Response timeout in milliseconds. */
const TIMEOUT = 20_000

async function post(service: string, path: string, body: object): Promise<void> {
  const response = await fetch(`${service}/api${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-session-api-key': key },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT),
  }).catch((error: unknown) => {
    throw Object.assign(new Error('no response', { cause: error }), { code: 'no_response' })
  })
  const text = await response.text()
  if (!response.ok) throw Object.assign(new Error(text), { code: `http_${response.status}` })
}

function sending(number: number): Worker {
  let turn = number
  const service = (): string => services[(turn += 1) % services.length] ?? ''
  const idOf = (round: number): string => `r${round}-service-${number}`
  return {
    begin: (round) => post(service(), '/conversations', { conversation_id: idOf(round) }),
    async work(round, count) {
      const id = idOf(round)
      const name = `${id}-${count}`
      const from = Date.now()
      const body = { content: [{ type: 'text', text: name }], key: name, run: true }
      await retry(() => post(service(), `/conversations/${id}/events`, body))
      emit('acknowledged', 'service', id, name, from, Date.now())
    },
  }
}

await work(services.flatMap((_, index) => [sending(index + 1)]))
