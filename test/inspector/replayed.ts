import type { LogDocument } from '../../src/inspector/log-document.ts'
import { type Replayed, replaying } from '../../src/inspector/model/replayed.ts'

/** Folds a log in one step. */
export function replayed(document: LogDocument): Replayed {
  const steps = replaying(document)
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
