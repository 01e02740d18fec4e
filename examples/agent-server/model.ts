/** Calls the model through OpenAI Chat Completions, with streaming. */

import type { ChatMessage } from './view.ts'

export interface ModelReply {
  readonly text: string
  readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
}

interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null
      readonly tool_calls?: readonly {
        readonly index: number
        readonly id?: string
        readonly function?: { readonly name?: string; readonly arguments?: string }
      }[]
    }
  }[]
}

/**
 * Calls the model and reports each piece of text as it arrives. @throws Error for a failure status, and
 * when aborted.
 */
export async function callModel(
  url: string,
  messages: readonly ChatMessage[],
  tools: readonly object[],
  signal: AbortSignal,
  onText: (text: string) => void,
): Promise<ModelReply> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', stream: true, messages, tools }),
    signal,
  })
  if (!response.ok || response.body === null) throw new Error(`the model returned status ${response.status}`)
  let text = ''
  const calls: { id: string; name: string; arguments: string }[] = []
  for await (const data of dataLines(response.body)) {
    if (data === '[DONE]') return { text, calls }
    const delta = (JSON.parse(data) as Chunk).choices?.[0]?.delta
    if (typeof delta?.content === 'string' && delta.content !== '') {
      text += delta.content
      onText(delta.content)
    }
    for (const { index, id = '', function: part = {} } of delta?.tool_calls ?? []) {
      const call = (calls[index] ??= { id: '', name: '', arguments: '' })
      call.id += id
      call.name += part.name ?? ''
      call.arguments += part.arguments ?? ''
    }
  }
  throw new Error('the reply of the model is incomplete')
}

async function* dataLines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice(6)
  }
}
