import type { GrammarName } from '../../event/reply.ts'
import type { Grammar } from '../../messages/grammar.ts'
import { GRAMMARS } from '../../messages/grammars.ts'
import { helpfulModel } from '../../messages/model.ts'
import type { Model, ModelPart, ModelReply, RequestBody } from '../../messages/model.ts'
import { refusals, sign } from '../../messages/fake.ts'
import type { ProviderGrammar, Refusal, SeenBlock, Wire } from '../../messages/fake.ts'
import { turn } from '../turn.ts'

/** A request that the provider received. */
export interface ProviderRequest {
  readonly grammar: GrammarName
  readonly body: RequestBody
  readonly stream: boolean
  /** Rules that the request violates; empty if it was accepted. */
  readonly refused: readonly string[]
}

/** A provider for tests, in this process. */
export interface FakeProvider {
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>
  /** All requests, in order. */
  readonly requests: readonly ProviderRequest[]
  /** Violated rules of all rejected requests. */
  readonly refused: readonly string[]
  /** Number of signed parts in accepted requests. */
  readonly signed: number
  /** Number of responses that a client aborted before their end. */
  readonly unplayed: number
}

function routeOf(path: string, body: RequestBody): readonly [Spoken, boolean] | null {
  for (const { name, provider } of GRAMMARS) {
    const isStream = provider?.route(path, body) ?? null
    if (provider !== null && isStream !== null) return [{ ...provider, name }, isStream]
  }
  return null
}

type Spoken = ProviderGrammar & Pick<Grammar, 'name'>

function contentsOf(
  grammar: ProviderGrammar,
  request: RequestBody,
  says: readonly ModelPart[],
  number: number,
): Wire[] {
  const { front, blocks } = grammar.sight.see(request, request['tools'])
  const before: SeenBlock[] = [...blocks]
  const out: Wire[] = []
  const unsigned = grammar
    .arrange(says, request)
    .flatMap((part, index) => grammar.contents(part, `${number}_${index}`))
  for (const content of [...(grammar.resumedContents?.(request) ?? []), ...unsigned]) {
    const [seen] = grammar.sight.contentBlocks(content)
    const body = seen?.body ?? ''
    const isSigned = grammar.signs?.(content, out) === true
    const token = isSigned ? sign({ front, blocks: before }, body) : null
    const input = token === null ? content : grammar.signed(content, token)
    out.push(input)
    before.push(...grammar.sight.contentBlocks(input))
  }
  return out
}

const eventTexts = (
  { namedBy, last = '' }: ProviderGrammar,
  events: readonly Wire[],
  isEnded: boolean,
): string[] => [
  ...events.map(
    (event) =>
      `${namedBy === null ? '' : `event: ${String(event[namedBy])}\n`}data: ${JSON.stringify(event)}\n\n`,
  ),
  ...(isEnded && last !== '' ? [last] : []),
]

function refuse(grammar: ProviderGrammar, refusal: Refusal, message: string, headers = {}): Response {
  const { status, body } = grammar.error(refusal, message)
  return Response.json(body, { status, headers })
}

function onAbort(signal: AbortSignal, run: () => void): void {
  if (signal.aborted) run()
  else signal.addEventListener('abort', run, { once: true })
}

/**
 * Returns a provider for tests that implements each provider's API at its path: `/v1/messages`,
 * `/v1/chat/completions`, `/v1/responses`, `/v1beta/models/NAME:generateContent` and
 * `:streamGenerateContent`, `/v1beta/interactions`, `/model/NAME/converse` and `converse-stream`. It rejects
 * requests that violate the API's rules, and signed parts if content before them has changed. O(length of the
 * request).
 * @param model returns the replies; the default calls the request's first tool, then replies with its result
 * @example
 * const provider = fakeProvider(playTurns([{ says: ['Hello!'] }]))
 * const request = (messages) => ({ method: 'POST', body: JSON.stringify({ model: 'm', max_tokens: 9, messages }) })
 * const response = await provider.fetch('http://any/v1/messages', request([{ role: 'user', content: 'Hi.' }]))
 * (await response.json()).content // [{ type: 'text', text: 'Hello!' }]
 * (await provider.fetch('http://any/v1/messages', request([]))).status // 400
 * provider.refused.length // 1
 */
export function fakeProvider(model: Model = helpfulModel): FakeProvider {
  const requests: ProviderRequest[] = []
  const refused: string[] = []
  let taken = 0
  let signed = 0
  let remaining = 0

  const respond = async (request: Request): Promise<Response> => {
    const body = (await request.json()) as RequestBody
    const route = routeOf(new URL(request.url).pathname, body)
    if (route === null) return Response.json({ error: { message: 'Not found' } }, { status: 404 })
    const [grammar, stream] = route
    const violations = grammar.judge(body).map(({ rule, path, message }) => `${path}: ${message} (${rule})`)
    const seen = violations.length > 0 ? null : grammar.sight.see(body, body['tools'])
    const faults = seen === null ? violations : refusals(seen)
    requests.push({ grammar: grammar.name, body, stream, refused: faults })
    if (faults.length > 0) {
      refused.push(...faults)
      return refuse(grammar, 'invalid', faults.join('; '))
    }
    signed += seen?.blocks.filter(({ token }) => token !== null).length ?? 0
    taken += 1
    const number = taken
    const turn = await model(body, number)
    if ('fails' in turn) {
      if (turn.fails === 'silent') return never(request.signal, () => (remaining += 1))
      if (turn.fails === 'disconnected') throw lost()
      const { fails, retryAfter } = turn
      return refuse(grammar, fails, '', retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) })
    }
    return reply(grammar, request, stream, turn, contentsOf(grammar, body, turn.says, number), number)
  }

  const reply = (
    grammar: ProviderGrammar,
    request: Request,
    stream: boolean,
    turn: ModelReply,
    contents: readonly Wire[],
    number: number,
  ): Response => {
    const { end = null, endless } = turn
    if (!stream && end === 'failed') return refuse(grammar, 'server_error', '')
    const about = { requestNumber: number, end }
    const texts = stream
      ? eventTexts(grammar, grammar.stream(contents, about), !endless)
      : [JSON.stringify(grammar.whole(contents, about))]
    // An endless reply does not announce its end.
    const sent = endless ? texts.slice(0, stream ? -grammar.ends : 0) : texts
    return new Response(
      sendBytes(sent, turn, request.signal, () => (remaining += 1)),
      { headers: { 'content-type': stream ? 'text/event-stream' : 'application/json' } },
    )
  }

  return {
    fetch: (input, init) => respond(new Request(input, init)),
    requests,
    refused,
    get signed() {
      return signed
    },
    get unplayed() {
      return remaining
    },
  }
}

const lost = (): Error => new TypeError('terminated: the connection was lost')

const never = (signal: AbortSignal, onLeft: () => void): Promise<never> =>
  new Promise((_, reject) => {
    onAbort(signal, () => {
      onLeft()
      reject(signal.reason as Error)
    })
  })

function bytePieces(texts: readonly string[], { cut, pieces }: ModelReply): Uint8Array<ArrayBuffer>[] {
  const encoder = new TextEncoder()
  if (cut === undefined && pieces === undefined) return texts.map((text) => encoder.encode(text))
  const bytes = encoder.encode(texts.join('')).subarray(0, cut)
  const length = Math.max(1, pieces ?? bytes.length)
  return Array.from({ length: Math.ceil(bytes.length / length) }, (_, index) =>
    bytes.subarray(index * length, (index + 1) * length),
  )
}

function sendBytes(
  texts: readonly string[],
  reply: ModelReply,
  signal: AbortSignal,
  onLeft: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const { cut, slow = 0, endless } = reply
  const remaining = bytePieces(texts, reply)
  let isOver = false
  const leave = (): void => {
    if (isOver) return
    isOver = true
    onLeft()
  }
  return new ReadableStream({
    start(controller) {
      onAbort(signal, () => {
        if (isOver) return
        leave()
        controller.error(signal.reason)
      })
    },
    async pull(controller) {
      for (let n = 0; n < slow; n += 1) await turn()
      if (isOver) return
      const piece = remaining.shift()
      if (piece !== undefined) return controller.enqueue(piece)
      if (endless) return new Promise(() => undefined)
      isOver = true
      if (cut === undefined) controller.close()
      else controller.error(lost())
    },
    cancel: leave,
  })
}
