/** A step that waits until it is told to go on. */

import type { Step } from '../../src/conversation/run/step.ts'

/** A step that says one thing each time that it is asked, once the gate is open. */
export function gate(): {
  readonly step: Step
  /** Resolves when the step is waiting for the first time. */
  readonly reached: Promise<void>
  readonly open: () => void
} {
  const reached = Promise.withResolvers<void>()
  const opened = Promise.withResolvers<void>()
  return {
    reached: reached.promise,
    open: opened.resolve,
    async *step() {
      reached.resolve()
      await opened.promise
      yield {
        kind: 'MessageEvent',
        source: 'agent',
        llm_message: { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
      }
    },
  }
}
