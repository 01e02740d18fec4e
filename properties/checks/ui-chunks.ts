/** O3: the AI SDK's client assembles the chunks of a reply into the expected message. */

import { readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import type { Fact } from '../../src/event/quarantine.ts'
import { isOnPathIn } from '../../src/log/entry.ts'
import { advance, withLive } from '../../src/messages/ui/chunks.ts'
import type { UIPart } from '../../src/messages/ui/types.ts'
import { replyId, replyParts, toUIMessages } from '../../src/messages/ui/write.ts'
import type { State } from '../../src/state/state.ts'
import { hold, same } from '../../src/testing/failure.ts'
import { statesOf } from './replay.ts'

/** With and without streamed text, as the log grows. */
export async function checkUIChunks(
  facts: readonly Fact[],
  deltas: readonly string[],
  met: (situation: string) => void = () => undefined,
): Promise<void> {
  const states = statesOf(facts)
  const last = states.at(-1) as State
  for (const { id, role } of toUIMessages(last))
    if (role === 'user') await checkReply(states, id, deltas, met)
}

async function checkReply(
  states: readonly State[],
  id: string,
  deltas: readonly string[],
  met: (situation: string) => void,
): Promise<void> {
  const chunks: object[] = [{ type: 'start', messageId: replyId(id) }]
  let shown: readonly UIPart[] = []
  let messages: readonly UIPart[] = []
  let before: State | null = null
  const show = (parts: readonly UIPart[]): boolean => {
    const next = advance(shown, parts)
    if (next === null) return false
    if (next.chunks.some(({ type }) => type === 'reset-step')) met('a step removed')
    if (next.chunks.some((chunk) => 'preliminary' in chunk)) met('preliminary output')
    const isShown = ({ id }: { id?: unknown }): boolean =>
      shown.some((part) => 'data' in part && part.id === id)
    if (next.chunks.some((chunk) => chunk.type === 'data-progress' && isShown(chunk)))
      met('progress replaced')
    chunks.push(...next.chunks)
    ;({ parts: shown } = next)
    return true
  }
  for (const [index, state] of states.entries()) {
    const entry = [...state.log.entries].find((each) => each.inTree && each.id === id)
    if (entry === undefined || !isOnPathIn(entry, state.log.head)) {
      if (before !== null) return met('HEAD has left the branch')
      continue
    }
    messages = replyParts(state, id)
    const isFurther =
      before === null || before.log.head === null || isOnPathIn(before.log.head, state.log.head)
    before = state
    if (!show(messages)) {
      hold('O3', !isFurther, 'the current reply is rejected')
      return met('HEAD has moved')
    }
    let text = ''
    for (const delta of deltas.slice(0, index % 3)) {
      text += delta
      const live = withLive(
        messages,
        [{ type: 'text', text, state: 'streaming' }],
        state.header.status === 'paused',
      )
      hold('O3', show(live), 'streamed text is rejected')
      met('streamed text')
    }
  }
  hold('O3', show(messages), 'the final message is rejected')
  const stream = new ReadableStream<UIMessageChunk>({
    start(controller) {
      // Clients receive JSON.
      for (const chunk of JSON.parse(JSON.stringify(chunks)) as UIMessageChunk[]) controller.enqueue(chunk)
      controller.close()
    },
  })
  let message: UIMessage | null = null
  const errors: unknown[] = []
  for await (const each of readUIMessageStream({ stream, onError: (error) => errors.push(error) }))
    message = each
  same('O3', 'errors of the client', errors.map(String), [])
  same('O3', `the reply to ${id}`, (message?.parts ?? []).flatMap(plain), messages.flatMap(plain))
  met('a whole reply')
}

/** Extra step boundaries are allowed. Clients keep approvals and do not see that a call began. */
export function plain(part: object): string[] {
  const { approval, state, type, id, ...rest } = { approval: null, state: null, type: '', id: null, ...part }
  if (type === 'step-start') return []
  const isOpen =
    state === 'input-available' || state === 'approval-responded' || state === 'approval-requested'
  const stored = state === 'output-denied' ? approval : null
  const remaining = Object.entries({
    ...rest,
    id,
    type,
    state: isOpen ? 'no result' : state,
    approval: stored,
  })
  return [JSON.stringify(remaining.filter(([, value]) => value !== undefined && value !== null).toSorted())]
}
