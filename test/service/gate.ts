import type { Step } from '../../src/conversation/run/step.ts'

/** A step that waits for the gate, then always replies with the same text. */
export function gate(): {
  readonly step: Step
  /** Resolves when the step first waits. */
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
