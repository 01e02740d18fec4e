import type { Content, JsonValue } from '../../event/shapes.ts'
import type { ActionEvent, Event } from '../../event/types.ts'
import type { EventEntry } from '../../log/entry.ts'
import type { NeutralMessage } from '../../messages/message.ts'
import type { LeftOut } from '../../messages/prefix.ts'
import type { Reply, ReplyOutcome } from '../../messages/reply.ts'
import type { State } from '../../state/state.ts'
import type { Status } from '../../state/status.ts'
import { orAborted } from '../async.ts'
import type { BackgroundWork, ResumeWork } from '../background.ts'
import type { RunOptions } from './options.ts'

/** A request to a child conversation. */
export interface ChildRequest {
  /** The first message of the child. */
  readonly text: string
  readonly step: Step
  readonly title?: string | null
  /** Maximum depth of nested children. Default: 4. */
  readonly maxDepth?: number
  /** Maximum number of children of one conversation. Default: 1,000. */
  readonly maxChildren?: number
  /** Options of the child's run. Default of `until`: `settled`. */
  readonly run?: Omit<RunOptions, 'signal' | 'wait' | 'from'>
  /** Aborting it interrupts the child. */
  readonly signal: AbortSignal
  /** Called with the child's id when the child exists, before it runs. */
  readonly onOpen?: (conversationId: string) => void
}

/** Reply of a child conversation. */
export interface ChildReply {
  readonly conversationId: string
  /** `finished`, or the status in which the child stopped without a final reply. */
  readonly status: Status
  readonly content: readonly Content[]
}

/** Runs the child conversation of a call. */
export type RunChild = (actionId: string, request: ChildRequest) => Promise<ChildReply>

/** Input of a step. */
export interface StepInput {
  readonly state: State
  /** The view as neutral messages, which `toAnthropic` and similar functions accept. */
  readonly messages: readonly NeutralMessage[]
  /**
   * Id of HEAD, or null. The run adds the id to replies without `reply.after`, to record which events the
   * model saw.
   */
  readonly after: string | null
  /** Calls to execute now, in log order. When empty, call the model. */
  readonly approved: readonly EventEntry<ActionEvent>[]
  /**
   * Aborted when the run is interrupted, its lease is lost, or the conversation is deleted. Nothing that is
   * yielded afterwards is appended.
   */
  readonly signal: AbortSignal
  /**
   * Sends a StreamingDeltaEvent to live readers. If a user stops the step, the run appends a message with the
   * published text that the step has not yielded. The message also has the model and the token counts of the
   * reply that `soFar` returns.
   */
  readonly publish: (delta: Event, soFar?: () => Reply) => void
  /**
   * Starts work that continues after the step. Call it before the step yields the call's WorkingObservation,
   * and pass the promise of the work to `completeWith`. The run continues meanwhile.
   * @throws ColloquyError `unknown_call` if the step has ended.
   */
  readonly background: (call: EventEntry<ActionEvent>) => Promise<BackgroundWork>
  /**
   * Runs the child conversation of a call, creating it if needed. The first argument is the action's id.
   * Rejects with an `Error` beyond `maxDepth` or `maxChildren`.
   */
  readonly runChild: RunChild
  /** Restores the long strings in a state that the step computed from `state` (see `EngineOptions.blobs`). */
  readonly withBodies: (state: State) => Promise<State>
  /** Reports left-out signed parts to the run's caller. Pass it as the option `onPrefix` of `toAnthropic`. */
  readonly onPrefix: (omitted: LeftOut) => void
}

/**
 * What a step yields: an event, a batch of events, or a `Reply` (as from `fromAnthropic`), which also has an
 * outcome. A StreamingDeltaEvent is published, other events are appended.
 */
export type Yielded = Event | readonly Event[] | Reply

/**
 * Executes the approved calls and yields their results. If no call is approved, calls the model and yields
 * its reply. `anthropicStep` and the other `…Step` functions of `colloquy/steps` return a step.
 */
export interface Step {
  (
    input: StepInput,
  ): AsyncIterable<Yielded> | Iterable<Yielded> | Promise<AsyncIterable<Yielded> | Iterable<Yielded>>
  /**
   * Whether a call that has started but has no result, as after a crash, may be executed again. Ignored if
   * two runs were lost since the call. Default: no; the model then reads that the call's effect is unknown.
   */
  readonly repeats?: (call: ActionEvent) => boolean
  /**
   * Continues a call that another process began. `task` is from the call's WorkingObservation or its latest
   * progress. If `resume` is missing or returns null, the call is completed as lost.
   */
  readonly resume?: (
    call: Parameters<ResumeWork>[0],
    task: JsonValue,
    work: BackgroundWork & { readonly runChild: RunChild },
  ) => ReturnType<ResumeWork>
}

export interface StepOutput {
  readonly events: readonly Event[]
  readonly outcome: ReplyOutcome | null
}

/** Yields a step's output until its end or an abort. A step that ignores the signal is abandoned. */
export async function* readStep(step: Step, input: StepInput): AsyncGenerator<StepOutput, void, undefined> {
  const { signal } = input
  let iterator: AsyncIterator<Yielded> | Iterator<Yielded> | null = null
  try {
    // Called synchronously, so that nothing can change between the caller's last check and the step.
    const called = signal.aborted ? null : step(input)
    const outputs = called instanceof Promise ? await orAborted(called, signal) : called
    if (outputs === null) return
    if (!isIterable(outputs))
      throw new TypeError('A step must be an async generator (async function*), or return a list of events.')
    iterator = Symbol.asyncIterator in outputs ? outputs[Symbol.asyncIterator]() : outputs[Symbol.iterator]()
    for (;;) {
      const result = await orAborted(iterator.next(), signal)
      if (result === null || signal.aborted) return
      if (result.done === true) {
        iterator = null
        return
      }
      yield stepOutput(result.value)
    }
  } catch (error) {
    iterator = null
    throw error
  } finally {
    // Not awaited: the step may never return.
    if (iterator !== null) void Promise.resolve(iterator.return?.()).catch(() => undefined)
  }
}

const isIterable = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value)

function stepOutput(yielded: Yielded): StepOutput {
  if (Array.isArray(yielded)) return { events: yielded as readonly Event[], outcome: null }
  const one = yielded as Event | Reply
  if (typeof one !== 'object' || one === null)
    throw new TypeError(`A step must yield events or replies, not ${one === null ? 'null' : typeof one}.`)
  return 'events' in one && !('kind' in one) ? one : { events: [one as Event], outcome: null }
}
