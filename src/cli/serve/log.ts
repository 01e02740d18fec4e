/** Lines of JSON on standard error, in order; a slow terminal holds up no request. */

import { failureText } from '../attempt.ts'
import type { Io } from '../print/io.ts'
import { plain } from '../print/text.ts'

/** A start that came to nothing, and why. */
interface FailedStart {
  readonly id: string
  readonly sandbox_id: string | null
  readonly detail: string | null
}

/** The log of a service. When its reader is gone, its lines are left out. */
export interface ServiceLog {
  readonly write: (line: object) => void
  /** What has gone wrong in the service itself. */
  readonly failed: (error: unknown, fields: object) => void
  /** A webhook did not take what it was sent; it is sent again. */
  readonly notTaken: (error: unknown, webhook: string, conversationId: string | null) => void
  /** A conversation could not be started. */
  readonly notStarted: (task: FailedStart) => void
  /** Resolves when all that was said is written. */
  readonly written: () => Promise<void>
}

export function logOn({ stderr }: Pick<Io, 'stderr'>): ServiceLog {
  let last: Promise<void> = Promise.resolve()
  const write = (line: object): void => {
    last = last.then(() => stderr.write(`${JSON.stringify(line)}\n`)).catch(() => undefined)
  }
  const say = (level: 'error' | 'warn', message: string, fields: object): void =>
    write({ time: new Date().toISOString(), level, message, ...fields })
  return {
    write,
    failed(error, fields) {
      const stack = error instanceof Error ? plain(error.stack ?? '') : ''
      say('error', failureText(error), { ...fields, stack })
    },
    notTaken(error, webhook, conversationId) {
      say('warn', 'webhook not taken', {
        webhook,
        conversation_id: conversationId,
        reason: failureText(error),
      })
    },
    notStarted({ id, sandbox_id, detail }) {
      say('warn', 'conversation not started', { start_task_id: id, sandbox_id, reason: plain(detail ?? '') })
    },
    written: () => last,
  }
}
