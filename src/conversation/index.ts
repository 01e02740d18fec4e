/** The entry `colloquy/engine`: the live conversation that a server holds. */

export type { BackgroundWork, CallCompletion, ProgressReport, ResumeWork } from './background.ts'
export { Conversation, type SendOptions } from './conversation.ts'
export { createEngine, type Engine, type EngineOptions } from './engine.ts'
export type { DeletionOptions, DeletionReport } from './engine-context.ts'
export type { DeletionFilter, RetentionOptions } from './retention.ts'
export type { Follower, FollowHandler, Following, FollowItem, FollowOptions } from './follow/follow.ts'
export type { ForkOptions } from './fork.ts'
export type { LoggedEvent } from './logged-event.ts'
export type { ConversationRecovery, Recovery } from './recover.ts'
export type { Look } from './replica.ts'
export type { Hook, HookInput, HookOutcome } from './run/hooks.ts'
export type { RunCondenser, RunCondenserDecision, RunOptions, RunResult } from './run/options.ts'
export type { Policy } from './run/policy.ts'
export type { RunChild, ChildReply, ChildRequest, Step, StepInput, Yielded } from './run/step.ts'
export type { SubscribeOptions, SubscriptionItem } from './subscribe.ts'
export type { TreeSubscriptionItem } from './tree.ts'
export {
  receiveUIMessages,
  uiMessageResponse,
  uiMessageStream,
  type UIReceiveOptions,
  type UIStreamOptions,
} from './ui-messages.ts'
