/**
 * Keeps what was streamed of a reply whose user stopped it: he has read it, so the log and the model must know of it
 * too.
 */

import { isOfReply } from '../../event/reply.ts'
import type { Event } from '../../event/types.ts'
import { eventKindOf } from '../../log/entry.ts'
import { hasText } from '../../event/has-text.ts'
import { add, type RunContext } from './context.ts'

/** What of a step's streamed text is in no event yet. */
export interface TextSoFar {
  text: string
}

/**
 * Takes in what a step yields or publishes: a delta adds its text, an event of a reply holds all that was streamed
 * before it.
 */
export function hear(so: TextSoFar, event: Event): void {
  if (event.kind === 'StreamingDeltaEvent') so.text += event.content ?? ''
  else if (isOfReply(event)) so.text = ''
}

/**
 * Appends the text that a step had streamed and not yielded when an interrupt stopped it: the one thing that may follow
 * the interrupt (law I4). It says that it was cut off, so it changes no status and is no final reply. Nothing where no
 * interrupt stands in the log since the step began. @throws `lease_lost`, what the store throws.
 */
export async function keepTextSoFar(
  run: RunContext,
  { text }: TextSoFar,
  { after, since }: { readonly after: string | null; readonly since: number },
): Promise<void> {
  if (!hasText(text)) return
  const message: Event = {
    kind: 'MessageEvent',
    source: 'agent',
    llm_message: {
      role: 'assistant',
      content: [{ type: 'text', text }],
      reply: { after, interrupted: true },
    },
  } as Event
  await add(
    run,
    ({ header, log }) => {
      const stopped = log.entries.slice(since).some((entry) => eventKindOf(entry) === 'InterruptEvent')
      return stopped && header.status !== 'deleting' ? [message] : []
    },
    { whenAborted: true },
  )
}
