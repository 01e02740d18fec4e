/** The entry `colloquy/ag-ui`: a conversation as events of the AG-UI protocol, and a run's input as events of a conversation. */

import { EventType, type AGUIEvent, type Interrupt } from '@ag-ui/core'
import type { Conversation } from '../conversation/conversation.ts'
import { uiMessageStream, type UIStreamOptions } from '../conversation/ui-messages.ts'
import { ColloquyError } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import type { JsonObject, JsonValue } from '../event/shapes.ts'
import type { UIChunk } from '../messages/ui/types.ts'
import { replyParts } from '../messages/ui/write.ts'
import { listPendingCalls } from '../state/read.ts'
import type { State } from '../state/state.ts'
import { agUiMessages, eventOf } from './ag-ui-messages.ts'

export { agUiMessages }

/** Which run to stream. */
export interface AgUiOptions extends Pick<UIStreamOptions, 'run' | 'signal' | 'onError'> {
  /** The ids of the client's input: {@link receiveRunInput} checks them. */
  readonly input: { readonly threadId: string; readonly runId: string }
}

/**
 * Yields the run of a conversation as AG-UI events: `RUN_STARTED`, a snapshot of all messages, the reply word by word with its
 * reasoning, calls and results, a snapshot again, in which each message has the id of its event, and `RUN_FINISHED` (success,
 * cancelled, or an interrupt for each call that waits for a user) or `RUN_ERROR`. Because it begins with a snapshot, a client
 * that was cut off asks again and misses nothing. Ending the stream does not end the run. O(branch) for a snapshot.
 *
 * @example
 * const engine = createEngine({ store: memoryStore() })
 * const conversation = await engine.create()
 * await conversation.sendMessage('Hello')
 * const events = await Array.fromAsync(agUiEvents(conversation, { input: { threadId: 't', runId: 'r' } }))
 * events.map(({ type }) => type) // ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']
 * await engine.close()
 */
export async function* agUiEvents(
  conversation: Conversation,
  { input, run, signal, onError }: AgUiOptions,
): AsyncGenerator<AGUIEvent, void, undefined> {
  const { threadId, runId } = input
  yield { type: EventType.RUN_STARTED, threadId, runId }
  let begin = run
  for (let isOver = false; !isOver; begin = undefined) {
    // oxlint-disable-next-line no-await-in-loop
    const { messages, from, to } = await conversation.read((state) => {
      const id = state.branch.lastUserMessage?.id
      return { messages: agUiMessages(state), to: id, from: id ? replyParts(state, id) : [] }
    })
    yield { type: EventType.MESSAGES_SNAPSHOT, messages }
    if (to === undefined || to === null) break
    const translate = translator(to)
    isOver = true
    const options = {
      to,
      from,
      ...(begin && { run: begin }),
      ...(signal && { signal }),
      ...(onError && { onError }),
    }
    for await (const chunk of uiMessageStream(conversation, options)) {
      if (chunk.type === 'error') {
        yield { type: EventType.RUN_ERROR, message: chunk.errorText }
        return
      }
      // What was streamed does not hold: begin again with a snapshot of what does.
      if (chunk.type === 'reset-step') {
        yield* translate(null)
        isOver = false
        break
      }
      yield* translate(chunk)
    }
  }
  const { messages, outcome } = await conversation.read((state) => ({
    messages: agUiMessages(state),
    outcome: outcomeOf(state),
  }))
  yield { type: EventType.MESSAGES_SNAPSHOT, messages }
  yield { type: EventType.RUN_FINISHED, threadId, runId, outcome }
}

/** The same as a response of server-sent events, which AG-UI's `HttpAgent` reads. */
export function agUiResponse(conversation: Conversation, options: AgUiOptions): Response {
  const left = new AbortController()
  const signal = options.signal === undefined ? left.signal : AbortSignal.any([left.signal, options.signal])
  const events = agUiEvents(conversation, { ...options, signal })
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await events.next()
      if (done === true) controller.close()
      else controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`))
    },
    async cancel() {
      left.abort()
      await events.return()
    },
  })
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream', 'cache-control': 'no-cache, no-transform' },
  })
}

/**
 * Takes in the input of an AG-UI run: user messages that the log does not have are appended under their ids, results of calls
 * that the client executed end these calls, and `resume` approves or rejects calls that wait. The same input again changes
 * nothing. Run the conversation then.
 *
 * @throws ColloquyError `invalid_argument` for what is no input, `unknown_call` for a resume of a call that does not wait.
 */
export async function receiveRunInput(
  conversation: Conversation,
  given: unknown,
): Promise<AgUiOptions['input']> {
  const input = isObject(given as JsonValue) ? (given as JsonObject) : {}
  const { threadId, runId, messages } = input
  if (typeof threadId !== 'string' || typeof runId !== 'string' || !Array.isArray(messages))
    throw new ColloquyError('invalid_argument', 'Pass an AG-UI input with threadId, runId and messages.')
  const events = await conversation.read((state) => {
    const pending = new Map(listPendingCalls(state).map(({ entry }) => [entry.id, entry.event]))
    return messages.filter(isObject).flatMap((message) => eventOf(message, state, pending) ?? [])
  })
  if (events.length > 0) await conversation.append(events)
  const resume = Array.isArray(input['resume']) ? input['resume'].filter(isObject) : []
  for (const { interruptId, status, payload } of resume) {
    const isApproved =
      status === 'resolved' && payload !== false && !(isObject(payload) && payload['approved'] === false)
    const ids = [String(interruptId)]
    // oxlint-disable-next-line no-await-in-loop -- in the order of the client
    await (isApproved ? conversation.approve(ids) : conversation.reject(ids))
  }
  return { threadId, runId }
}

/** Translates chunks of the reply to a message; null ends what is open. */
function translator(to: string): (chunk: UIChunk | null) => AGUIEvent[] {
  /** The text or the reasoning that is open, by its message's id. */
  const open = new Map<string, 'reasoning' | 'text'>()
  const end = (messageId: string): AGUIEvent[] => {
    const type = open.get(messageId)
    open.delete(messageId)
    if (type === undefined) return []
    if (type === 'text') return [{ type: EventType.TEXT_MESSAGE_END, messageId }]
    return [
      { type: EventType.REASONING_MESSAGE_END, messageId },
      { type: EventType.REASONING_END, messageId },
    ]
  }
  return (chunk) => {
    if (chunk === null) return [...open.keys()].flatMap(end)
    switch (chunk.type) {
      case 'text-start':
        open.set(`${to}-text-${chunk.id}`, 'text')
        return [
          { type: EventType.TEXT_MESSAGE_START, messageId: `${to}-text-${chunk.id}`, role: 'assistant' },
        ]
      case 'text-delta':
        return [
          { type: EventType.TEXT_MESSAGE_CONTENT, messageId: `${to}-text-${chunk.id}`, delta: chunk.delta },
        ]
      case 'text-end':
        return end(`${to}-text-${chunk.id}`)
      case 'reasoning-start': {
        const messageId = `${to}-reasoning-${chunk.id}`
        open.set(messageId, 'reasoning')
        return [
          { type: EventType.REASONING_START, messageId },
          { type: EventType.REASONING_MESSAGE_START, messageId, role: 'reasoning' },
        ]
      }
      case 'reasoning-delta':
        return [
          {
            type: EventType.REASONING_MESSAGE_CONTENT,
            messageId: `${to}-reasoning-${chunk.id}`,
            delta: chunk.delta,
          },
        ]
      case 'reasoning-end':
        return end(`${to}-reasoning-${chunk.id}`)
      case 'tool-input-available': {
        const { toolCallId, toolName, input } = chunk
        const parentMessageId = `${toolCallId}-call`
        return [
          { type: EventType.TOOL_CALL_START, toolCallId, toolCallName: toolName, parentMessageId },
          { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: JSON.stringify(input) },
          { type: EventType.TOOL_CALL_END, toolCallId },
        ]
      }
      case 'tool-output-available':
        return [
          resultOf(
            chunk.toolCallId,
            typeof chunk.output === 'string' ? chunk.output : JSON.stringify(chunk.output),
          ),
        ]
      case 'tool-output-error':
        return [resultOf(chunk.toolCallId, chunk.errorText)]
      case 'tool-output-denied':
        return [resultOf(chunk.toolCallId, 'rejected')]
      default:
        return []
    }
  }
}

const resultOf = (toolCallId: string, content: string): AGUIEvent => ({
  type: EventType.TOOL_CALL_RESULT,
  messageId: `${toolCallId}-result`,
  toolCallId,
  role: 'tool',
  content,
})

function outcomeOf(
  state: State,
): NonNullable<Extract<AGUIEvent, { type: EventType.RUN_FINISHED }>['outcome']> {
  const { status } = state.header
  if (status === 'waiting_for_confirmation') {
    const interrupts = listPendingCalls(state).map(({ entry }): Interrupt => ({
      id: entry.id,
      toolCallId: entry.id,
      reason: 'tool_call',
      message: `May ${entry.event.tool_name} run?`,
    }))
    return { type: 'interrupt', interrupts }
  }
  return { type: status === 'paused' ? 'cancelled' : 'success' }
}
