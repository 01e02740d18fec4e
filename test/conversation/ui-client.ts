/** The AI SDK's chat client, the base of `useChat`, without a network. */

import { AbstractChat, type ChatState, DefaultChatTransport, type UIMessage } from 'ai'
import type { Conversation } from '../../src/conversation/conversation.ts'
import type { RunOptions, RunResult } from '../../src/conversation/run/options.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import {
  receiveUIMessages,
  type UIReceiveOptions,
  type UIStreamOptions,
  uiMessageResponse,
} from '../../src/conversation/ui-messages.ts'

/** A chat whose fields are plain values; it reports changes. */
export class PlainChat extends AbstractChat<UIMessage> {
  constructor(init: { readonly id: string; readonly fetch: typeof fetch; readonly changed?: () => void }) {
    const { id, changed = () => undefined } = init
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages: [],
      pushMessage(message) {
        state.messages = [...state.messages, structuredClone(message)]
        changed()
      },
      popMessage() {
        state.messages = state.messages.slice(0, -1)
      },
      replaceMessage(index, message) {
        state.messages = state.messages.with(index, structuredClone(message))
        changed()
      },
      snapshot: (thing) => structuredClone(thing),
    }
    super({ id, state, transport: new DefaultChatTransport({ fetch: init.fetch }) })
  }
}

/** The server of the documentation example, and its runs. */
export function server(
  conversation: Conversation,
  step: Step,
  options: RunOptions = {},
  ui: UIReceiveOptions = {},
  until: UIStreamOptions['until'] = 'replied',
) {
  const runs: Promise<RunResult>[] = []
  const { waiting: _, ...shown } = ui
  const respond: typeof fetch = async (_, init) => {
    const signal = init?.signal ?? undefined
    let response: Response
    if (init?.method === 'GET') response = uiMessageResponse(conversation, { ...shown, until })
    else {
      const received = await receiveUIMessages(conversation, JSON.parse(String(init?.body)), ui)
      const run = (): Promise<RunResult> => {
        const running = conversation.run(step, { wait: true, ...options })
        runs.push(running)
        return running
      }
      response = uiMessageResponse(conversation, { ...shown, ...received, run, until })
    }
    // As with a real connection, an aborted fetch cancels the body, and some chunks are sent before they are
    // read. Deno reads none without such a buffer.
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>({}, {}, { highWaterMark: 16 })
    response.body?.pipeTo(writable, signal ? { signal } : {}).catch(() => undefined)
    return new Response(readable, response)
  }
  return { fetch: respond, runs }
}
