/** Entry point `colloquy/explain`: why an event is in the view or not, and what is wrong in a conversation. */

export { explain } from './explain.ts'
export { type Explanation, type NoteCode, type Reason, ruleOf, type VerdictCode } from './explanation.ts'
export { type Finding, type FindingCost, FINDING_KINDS, type FindingKind, type Severity } from './finding.ts'
export { type FindingOptions, findings } from './findings.ts'
export type { SentOptions } from './sent.ts'
