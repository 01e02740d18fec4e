/** Entry `colloquy/sessions`: recorded sessions of other agents, read as logs. */

export { type AtifOptions, type AtifTrajectory, sessionTree, toAtif } from './atif.ts'
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
