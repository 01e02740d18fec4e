/** Deliberate faults in src/conversation/: each breaks at least one law of the runs. */

import type { Fault } from './fault.ts'

export const EXECUTION_FAULTS: readonly Fault[] = [
  {
    name: 'a pause before the run began is undone by it',
    file: 'conversation/run/ends.ts',
    find: "if ((status === 'paused' || status === 'error') && isPausedFrom(state, run.from)) return []",
    replace: '',
  },
  {
    name: 'a pause stops nothing',
    file: 'conversation/run/context.ts',
    find: "run.signal.aborted || status === 'paused' ||",
    replace: 'run.signal.aborted ||',
  },
  {
    name: 'a pause is undone by a reply of two responses',
    file: 'conversation/run/take.ts',
    find: "if (before === 'paused' && status === 'running') return",
    replace: "if (before === 'stuck' && status === 'running') return",
  },
  {
    name: 'what a step yields after an interrupt is appended',
    file: 'conversation/run/context.ts',
    find: '(signal.aborted ? [] : decide(state))',
    replace: 'decide(state)',
  },
  {
    name: 'an interrupt by another process is not seen',
    file: 'conversation/run/loop.ts',
    find: "=== 'InterruptEvent') interrupted.abort()",
    replace: "=== 'ServerErrorEvent') interrupted.abort()",
  },
  {
    name: 'an interrupt leaves calls open',
    file: 'conversation/decide.ts',
    find: "return [...errorAnswers(calls, INTERRUPTED), { kind: 'InterruptEvent', source: 'user' }]",
    replace:
      "return [...errorAnswers(calls.slice(1), INTERRUPTED), { kind: 'InterruptEvent', source: 'user' }]",
  },
  {
    name: 'an interrupt beside a pause is not heard',
    file: 'conversation/decide.ts',
    find: "(live && (status === 'paused' || status === 'finished'))",
    replace: "(live && status === 'finished')",
  },
  {
    name: 'an aborted signal tells the log nothing',
    file: 'conversation/run/loop.ts',
    find: 'interrupting = replica.commit((state) => decideInterrupt(state, true), { depends: true })',
    replace: 'interrupting = replica.commit(() => [], { depends: true })',
  },
  {
    name: 'a silent step is waited for',
    file: 'conversation/run/step.ts',
    find: 'await Promise.race([Promise.resolve(iterator.next()), aborted.promise])',
    replace: 'await Promise.resolve(iterator.next())',
  },
  {
    name: 'an execution begins without a record',
    file: 'conversation/run/execute.ts',
    find: "        'started',\n",
    replace: "        'held',\n",
  },
  {
    name: 'a call that was begun is begun again',
    file: 'conversation/run/plan-calls.ts',
    find: "if (!isExecutable(event) || grant === 'started') plan.interrupt.push(call)",
    replace:
      "if (!isExecutable(event)) plan.interrupt.push(call)\n    else if (grant === 'started') plan.execute.push(call)",
  },
  {
    name: 'the policy counts as it was when the call was planned',
    file: 'conversation/run/execute.ts',
    find: 'planOf(run, state).execute.filter(({ id }) => allowed.has(id))',
    replace: 'calls.filter((call) => allowed.has(call.id) && isOpen(state, call))',
  },
  {
    name: 'the policy is asked of each call alone',
    file: 'conversation/run/plan-calls.ts',
    find: 'policy(event, replies.get(event.llm_response_id) ?? [event])',
    replace: 'policy(event, [event])',
  },
  {
    name: 'a message that came while the model was thinking is forgotten',
    file: 'conversation/run/take.ts',
    find: 'return found.toReversed()',
    replace: 'return []',
  },
  {
    name: 'a message before a finish call is forgotten',
    file: 'conversation/run/take.ts',
    find: 'events.some((event) => isReply(event) || isFinishCall(event))',
    replace: 'events.some((event) => isReply(event))',
  },
  {
    name: 'a finish ends what is not over',
    file: 'conversation/run/take.ts',
    find: "before !== 'finished' && status === 'finished' && guarded",
    replace: "before !== 'finished' && status === 'finished' && guarded && before === 'paused'",
  },
  {
    name: 'hooks are shown one message of a run',
    file: 'conversation/run/prompts.ts',
    find: 'run.promptedTo = seq + 1',
    replace: 'run.promptedTo = Infinity',
  },
  {
    name: 'what a hook blocks is shown to the model',
    file: 'conversation/run/prompts.ts',
    find: 'forgotten_event_ids: [id, ...repeats]',
    replace: 'forgotten_event_ids: repeats',
  },
  {
    name: 'a call that a hook blocks is not answered',
    file: 'conversation/run/execute.ts',
    find: 'return isOpen(state, call) ? [...events, answer] : events',
    replace: 'return events',
  },
  {
    name: 'work that came when a run ended is left lying',
    file: 'conversation/run/loop.ts',
    find: 'signal?.aborted !== true && wantsToGoOn(state)',
    replace: 'signal?.aborted !== true && state === null && wantsToGoOn(state)',
  },
  {
    name: 'a run that has ended wants its lease again',
    file: 'conversation/run/loop.ts',
    find: "if (hasCode(error, 'already_running')) return null",
    replace: '',
  },
  {
    name: 'a failure of the step is told to nobody',
    file: 'conversation/run/loop.ts',
    find: 'await add(run, (state) => failureOf(run, state, error))',
    replace: '',
  },
  {
    name: 'a run that lost its lease goes on writing',
    file: 'conversation/run/context.ts',
    find: '    lease: { owner, generation },\n',
    replace: '',
  },
  {
    name: 'a lease that was taken by a late heartbeat is kept',
    file: 'conversation/run/lease.ts',
    find: 'if (renewed !== null) await store.releaseLease(renewed)',
    replace: '',
  },
  {
    name: 'a recovery leaves a call open',
    file: 'conversation/decide.ts',
    find: "...errorAnswers(calls, INTERRUPTED),\n    { kind: 'ConversationErrorEvent', source: 'environment', code: 'RunLost', detail },",
    replace:
      "...errorAnswers(calls.slice(1), INTERRUPTED),\n    { kind: 'ConversationErrorEvent', source: 'environment', code: 'RunLost', detail },",
  },
]
