/** What the collectors of all grammars have in common: events of a stream one by one, then the reply. */

import type { StreamingDeltaEvent } from '../event/types.ts'
import type { Reply } from './reply-events.ts'

/** Collects a streamed reply. */
export interface ReplyCollector {
  /** Takes the next event of the stream; gives what to publish of it, nothing for most. */
  readonly push: (event: object) => readonly StreamingDeltaEvent[]
  /** The reply, as far as it came; changes nothing, so it may be asked for at any time. */
  readonly end: () => Reply
}

/** Words of the reply for live readers; none for an empty text. */
export const textDelta = (content: string): StreamingDeltaEvent[] =>
  content === '' ? [] : [{ kind: 'StreamingDeltaEvent', source: 'agent', content }]

/** The same of its reasoning. */
export const reasoningDelta = (reasoning_content: string): StreamingDeltaEvent[] =>
  reasoning_content === '' ? [] : [{ kind: 'StreamingDeltaEvent', source: 'agent', reasoning_content }]
