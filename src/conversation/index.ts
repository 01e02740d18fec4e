/** The entry `colloquy/engine`: the live conversation that a server holds. */

export { Conversation, type SendOptions } from './conversation.ts'
export { createEngine, type Engine, type EngineOptions } from './engine.ts'
export type { ForkOptions } from './fork.ts'
export type { LoggedEvent } from './logged-event.ts'
export type { ConversationRecovery } from './recover-all.ts'
export type { Recovery } from './recover.ts'
export type { Look } from './replica.ts'
export type { Hook, HookInput, HookOutcome } from './run/hooks.ts'
export type { RunOptions, RunResult } from './run/loop.ts'
export type { Policy } from './run/policy.ts'
export type { Step, StepInput, Yielded } from './run/step.ts'
export type { SubscribeOptions, SubscriptionItem } from './subscribe.ts'
