/** The entry `colloquy/deciders`: pure functions from a state and a command to the resulting events. */

export {
  decideApprove,
  decideEdit,
  decideInterrupt,
  decideNavigate,
  decidePause,
  decidePolicy,
  decideRecover,
  decideReject,
  decideRestart,
  decideResume,
} from './decide.ts'
export { type ForkPlan, planFork } from './fork.ts'
export { attachLateResults, decideComplete } from './late-results.ts'
export { type CallPlan, planCalls } from './run/plan-calls.ts'
export { toPolicy } from './run/policy.ts'
