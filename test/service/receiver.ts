import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { plainId } from '../../src/service/conversations/find-conversation.ts'
import { verifyWebhook } from '../../src/service/webhooks/sign.ts'

export const SECRET = 'the secret of the webhook'

export interface Received {
  readonly path: string
  readonly id: string
  readonly sequence: string
  readonly type: string
  readonly body: unknown
  readonly bytes: number
  /** `lost`: received, but the sender gets no response. */
  readonly answered: number | 'hangs' | 'lost'
}

/** `flood`: a 200 whose body never ends. */
type Answer = number | 'hang' | 'lose' | 'flood'

const ANSWERED = { hang: 'hangs', lose: 'lost', flood: 200 } as const

function flood(response: ServerResponse): void {
  const pour = (): void => {
    while (!response.destroyed && response.write('x'.repeat(65_536)));
  }
  response.writeHead(200).on('drain', pour)
  pour()
}

export class Receiver {
  readonly all: Received[] = []
  /** Answers to the next requests, in order; then 200. */
  readonly answers: Answer[] = []
  /** Overrides the answer for a path. */
  always: (path: string, bytes: number) => Answer | null = () => null
  forged = 0
  #server: Server | null = null
  readonly #hanging = new Set<ServerResponse>()
  #port = 0

  get url(): string {
    return `http://127.0.0.1:${this.#port}/hook`
  }

  async start(): Promise<this> {
    const server = createServer((request, response) => {
      const chunks: Buffer[] = []
      request.on('error', () => undefined)
      request.on('data', (chunk: Buffer) => chunks.push(chunk))
      request.on('end', async () => {
        const text = Buffer.concat(chunks).toString()
        const headers = request.headers as Record<string, string>
        if (!(await verifyWebhook(SECRET, headers, text))) this.forged += 1
        const path = decodeURIComponent(request.url ?? '').slice('/hook'.length)
        const bytes = Buffer.byteLength(text)
        const answer = this.always(path, bytes) ?? this.answers.shift() ?? 200
        this.all.push({
          path,
          id: headers['webhook-id'] ?? '',
          sequence: headers['x-colloquy-sequence'] ?? '',
          type: headers['x-colloquy-event'] ?? '',
          body: JSON.parse(text),
          bytes,
          answered: typeof answer === 'number' ? answer : ANSWERED[answer],
        })
        if (answer === 'hang') this.#hanging.add(response)
        else if (answer === 'lose') response.destroy()
        else if (answer === 'flood') flood(response)
        else response.writeHead(answer, answer === 302 ? { location: '/elsewhere' } : {}).end('{}')
      })
    })
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    return this
  }

  async stop(): Promise<void> {
    const server = this.#server
    this.#server = null
    server?.closeAllConnections()
    await new Promise<void>((resolve) => (server === null ? resolve() : server.close(() => resolve())))
  }

  /** The ids received of a conversation, in order and with repetitions. */
  events(conversationId: string): string[] {
    return this.accepted(`/events/${plainId(conversationId)}`).flatMap(({ body }) =>
      (body as { id: string }[]).map(({ id }) => id),
    )
  }

  accepted(path: string): Received[] {
    return this.all.filter((one) => one.path === path && one.answered === 200)
  }
}
