/** Judges call and answer: the turns of a request go in, the calls and answers that do not fit come out. */

import type { Finding } from './rule.ts'

/** A call or an answer, by the id that ties them. */
export interface Ref {
  readonly id: unknown
  readonly path: string
}

/** The calls of one assistant turn and the answers directly behind it; answers behind no call stand alone. */
export interface Turn<R extends Ref = Ref> {
  readonly calls: readonly R[]
  readonly answers: readonly R[]
}

/** What a request is made of, seen from the pairing: a call, an answer, or what ends the run of either. */
export type Step<R extends Ref = Ref> = { readonly call: R } | { readonly answer: R } | 'assistant' | 'break'

/** Groups steps into turns. A turn is a run of assistant steps with its calls, then the run of answers behind it. */
export function turnsOf<R extends Ref>(steps: Iterable<Step<R>>): Turn<R>[] {
  const turns: { calls: R[]; answers: R[] }[] = []
  let open: { calls: R[]; answers: R[] } | undefined
  for (const step of steps) {
    if (step === 'break') {
      open = undefined
      continue
    }
    const answers = typeof step === 'object' && 'answer' in step
    if (open === undefined || (!answers && open.answers.length > 0)) {
      open = { calls: [], answers: [] }
      turns.push(open)
    }
    if (step === 'assistant') continue
    if ('answer' in step) open.answers.push(step.answer)
    else open.calls.push(step.call)
  }
  return turns
}

export function* unanswered(turns: readonly Turn[]): Generator<Finding> {
  for (const { calls, answers } of turns) {
    for (const { id, path } of calls) {
      if (!answers.some((answer) => answer.id === id)) {
        yield { path, message: `no answer to ${String(id)} directly behind its turn` }
      }
    }
  }
}

export function* orphans(turns: readonly Turn[]): Generator<Finding> {
  for (const { calls, answers } of turns) {
    for (const { id, path } of answers) {
      if (!calls.some((call) => call.id === id)) {
        yield { path, message: `no call ${String(id)} in the turn directly before` }
      }
    }
  }
}

export function* answeredAgain(turns: readonly Turn[]): Generator<Finding> {
  for (const { answers } of turns) {
    yield* repeats(answers, 'answered more than once')
  }
}

export function* repeatedCalls(turns: readonly Turn[]): Generator<Finding> {
  yield* repeats(
    turns.flatMap(({ calls }) => calls),
    'id of an earlier call',
  )
}

export function* repeats(refs: readonly Ref[], message: string): Generator<Finding> {
  const seen = new Set<unknown>()
  for (const { id, path } of refs) {
    if (seen.has(id)) yield { path, message: `${String(id)}: ${message}` }
    seen.add(id)
  }
}
