/**
 * Entry `colloquy/testing`: arbitraries of events, parts and logs for fast-check (an optional peer
 * dependency), tests of folds, deterministic clocks and ids, and the conformance kit for stores.
 */

export { openPart, textContent } from './content.ts'
export { anyEvent, eventId, reasoningItem, toolCall } from './event.ts'
export { anyText } from './text.ts'
export * from './deterministic.ts'
export { describeFailure, type FailingCase, LawBroken, throwIfFailed } from './failure.ts'
export { golden, type GoldenFiles, recordReplay } from './golden.ts'
export { hostileLog } from './hostile-log.ts'
export { jsonObject, jsonValue } from './json.ts'
export { type ReplaySubject, replayTest, type ReplayTestOptions } from './replay.ts'
export type { LegalLength } from './legal-commands.ts'
export { legalLog } from './legal-log.ts'
export type { OwnRows } from './conformance/check.ts'
export * from './conformance/kit.ts'
