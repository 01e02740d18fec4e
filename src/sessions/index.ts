/** Entry point `colloquy/sessions`: reads sessions of other agents as logs; writes branches as ATIF or spans. */

export { type AtifOptions, type AtifTrajectory, sessionTree, toAtif } from './atif.ts'
export { withCodexHistory } from './codex.ts'
export { detectSession, readSession } from './read.ts'
export { type OtlpTraces, type SpanOptions, toSpans } from './spans.ts'
export {
  type Session,
  SESSION_FORMATS,
  type SessionFact,
  type SessionFormat,
  type SessionNote,
  type SessionRecord,
  type SubagentLink,
} from './session.ts'
