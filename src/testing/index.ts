/** `colloquy/testing`: arbitraries for fast-check, an optional peer, of events, messages and whole logs. */

export { anyEvent, anyTimestamp, eventId } from './event.ts'
export { anyContent, imageContent, plainContent, textContent } from './content.ts'
export { openPart } from './open-part.ts'
export { anyAction, anyObservation, toolArguments, toolCall } from './call.ts'
export { anyMessage } from './message.ts'
export { anyText } from './text.ts'
export { anyThinking, reasoningItem, signedThinking } from './thinking.ts'
export {
  scheduled,
  type ScheduledOptions,
  testClock,
  type TestClock,
  testIds,
  testScheduler,
} from './deterministic.ts'
export { describeFailure, type FailingCase, throwIfFailed } from './failure.ts'
export { compareRecordings, golden, type GoldenDifference, type GoldenFiles, recordReplay } from './golden.ts'
export { hostileLog } from './hostile-log.ts'
export { jsonObject, jsonValue } from './json.ts'
export { LawBroken } from './law.ts'
export { type ReplaySubject, replayTest, type ReplayTestOptions } from './replay.ts'
export type { LegalLength } from './legal-commands.ts'
export { legalLog } from './legal-log.ts'
export {
  type ConformanceCase,
  type ConformanceOptions,
  type ConformancePart,
  storeConformance,
} from './conformance/kit.ts'
