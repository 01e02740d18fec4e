/** The entry `colloquy/state`: the reducer, the `State` that it returns, and functions that read a state. */

export { stateAt, switchTo } from './at.ts'
export type { Branch } from './branch.ts'
export type { CallStatus, PendingCallStatus } from './call-status.ts'
export type { DroppedResult } from './dropped.ts'
export { encodeState } from './read.ts'
export type { Header, StateError } from './header.ts'
export {
  activatedSkills,
  type BranchInfo,
  cutPoints,
  findEvent,
  isOnPath,
  listBranches,
  listDroppedResults,
  listLeaves,
  listPendingBatches,
  listPendingCalls,
  listWarnings,
  listWorkingCalls,
  pathTo,
  viewEvents,
  type WorkingCallInfo,
} from './read.ts'
export { reduce, replay } from './reduce.ts'
export { type Checkpoint, initialState, type State, type StateOptions, type StateTree } from './state.ts'
export { isStatus, type Status, STATUSES } from './status.ts'
export type { DropReason, Entry, EventEntry, EvictedBody, LogWarning } from '../log/entry.ts'
export { kindOf } from '../log/entry.ts'
export type { Log } from '../log/log.ts'
export type { PendingCall, PendingCallIndex, WorkingCall } from '../log/open-calls.ts'
export type { Vector } from '../log/vector.ts'
export type { BatchUnit, CallResult, MessageUnit, Unit, ViewItem } from '../view/units.ts'
export { isPending, unitEvents } from '../view/units.ts'
export type { View } from '../view/view.ts'
