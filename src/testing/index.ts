/**
 * Entry point `colloquy/testing`: arbitraries of events and logs for fast-check (an optional peer dependency), tests
 * of folds, deterministic clocks and ids, and the conformance kit for stores.
 */

export { anyEvent } from './event.ts'
export * from './deterministic.ts'
export { describeFailure, type FailingCase, LawBroken, throwIfFailed } from './failure.ts'
export { golden, type GoldenFiles } from './golden.ts'
export { hostileLog } from './hostile-log.ts'
export { type ReplaySubject, replayTest, type ReplayTestOptions } from './replay.ts'
export { type LegalLength, legalLog } from './legal-log.ts'
export type { OwnRows } from './conformance/check.ts'
export * from './conformance/kit.ts'
