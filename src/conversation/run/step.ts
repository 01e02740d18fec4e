/** The step that a caller gives: what it is handed, what it may yield, and how that is read. */

import type { Content, JsonValue } from '../../event/shapes.ts'
import type { ActionEvent, Event } from '../../event/types.ts'
import type { EventEntry } from '../../log/entry.ts'
import type { NeutralMessage } from '../../messages/message.ts'
import type { LeftOut } from '../../messages/prefix.ts'
import type { Reply, ReplyOutcome } from '../../messages/reply.ts'
import type { State } from '../../state/state.ts'
import type { Status } from '../../state/status.ts'
import type { BackgroundWork, ResumeWork } from '../background.ts'
import type { RunOptions } from './options.ts'

/** What a child conversation is asked, and how it is run. */
export interface ChildRequest {
  /** The first message of the child. */
  readonly text: string
  /** The step of the child. */
  readonly step: Step
  readonly title?: string | null
  /** Maximum depth of nested children. Default: 4. */
  readonly maxDepth?: number
  /** Maximum number of children of one conversation. Default: 1,000. */
  readonly maxChildren?: number
  /** How the child is run. */
  readonly run?: Omit<RunOptions, 'signal' | 'wait' | 'from'>
  /** Aborting it interrupts the child. */
  readonly signal: AbortSignal
}

/** What a child conversation has replied. */
export interface ChildReply {
  readonly conversationId: string
  /** `finished`, or why there is no reply. */
  readonly status: Status
  readonly content: readonly Content[]
}

export type AskChild = (actionId: string, request: ChildRequest) => Promise<ChildReply>

/** What a step is handed. */
export interface StepInput {
  /** The state that the step begins with. */
  readonly state: State
  /** What the model is to be sent, in the neutral form; worked out when it is read. */
  readonly messages: readonly NeutralMessage[]
  /**
   * The id of the event under HEAD when the step was called, null for none. The run loop writes it into each reply that
   * the step yields (`reply.after`), unless that says it itself, so that the reply stands behind what it saw and
   * nothing else.
   */
  readonly after: string | null
  /** The calls to execute now, in log order. None: ask the model. */
  readonly approved: readonly EventEntry<ActionEvent>[]
  /** Aborted by an interrupt: what is yielded after that is not appended. */
  readonly signal: AbortSignal
  /**
   * Gives a StreamingDeltaEvent to live readers. When a user stops the step, the text that it streamed and did not
   * yield is kept.
   */
  readonly publish: (delta: Event) => void
  /**
   * Starts the work of a call that outlives its reply, before the step yields the call's WorkingObservation. Call
   * `completeWith` of what it returns. The run goes on asking the model meanwhile.
   */
  readonly background: (call: EventEntry<ActionEvent>) => Promise<BackgroundWork>
  /** Asks the child conversation of a call, by the action's id; it is created where there is none. */
  readonly askChild: AskChild
  /**
   * For the option of the same name of the writers, as in `toAnthropic(messages, { tools, onPrefix })`: so the caller
   * that runs the conversation learns of signed parts that had to be left out of the request, and why.
   */
  readonly onPrefix: (left: LeftOut) => void
}

/**
 * Events to append: one, or several as one batch, or a reply as a reader gives it, so that the run knows what ended it.
 * A StreamingDeltaEvent is published instead.
 */
export type Yielded = Event | readonly Event[] | Reply

/** Executes the approved calls, yielding a result for each, or asks the model, yielding what it replies. */
export interface Step {
  (
    input: StepInput,
  ): AsyncIterable<Yielded> | Iterable<Yielded> | Promise<AsyncIterable<Yielded> | Iterable<Yielded>>
  /**
   * Whether a call may be executed again that was begun and has no result on its branch, as where a process died or
   * HEAD went back, since doing it twice does no harm. Default: none may, and the model is told that it is not known
   * whether the call took effect.
   */
  readonly repeats?: (call: ActionEvent) => boolean
  /**
   * Continues the work of a call that another process has left, from the handle (`task`) of its working result or its
   * latest progress. Default, and where it returns null: the call is completed as lost.
   */
  readonly resume?: (
    call: Parameters<ResumeWork>[0],
    task: JsonValue,
    work: BackgroundWork & { readonly askChild: AskChild },
  ) => ReturnType<ResumeWork>
}

/** What a step has yielded: the events, and what ended its reply. */
export interface StepOutput {
  readonly events: readonly Event[]
  /** Null where the step did not say. */
  readonly outcome: ReplyOutcome | null
}

/**
 * What a step yields, until it ends or the signal is aborted; a step that does not listen to the signal is left behind.
 */
export async function* readStep(step: Step, input: StepInput): AsyncGenerator<StepOutput, void, undefined> {
  const { signal } = input
  const aborted = Promise.withResolvers<null>()
  const abort = (): void => aborted.resolve(null)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  let iterator: AsyncIterator<Yielded> | Iterator<Yielded> | null = null
  try {
    // Called at once, so that nothing comes between the caller's last look and the step.
    const called = signal.aborted ? null : step(input)
    const given = called instanceof Promise ? await Promise.race([called, aborted.promise]) : called
    if (given === null) return
    if (!isIterable(given))
      throw new TypeError('A step must be an async generator (async function*), or give a list of events.')
    iterator = Symbol.asyncIterator in given ? given[Symbol.asyncIterator]() : given[Symbol.iterator]()
    for (;;) {
      const result = await Promise.race([Promise.resolve(iterator.next()), aborted.promise])
      if (result === null || signal.aborted) return
      if (result.done === true) {
        iterator = null
        return
      }
      yield outputOf(result.value)
    }
  } catch (error) {
    iterator = null
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
    // It may be in the middle of something that never ends, so it is not waited for.
    if (iterator !== null) void Promise.resolve(iterator.return?.()).catch(() => undefined)
  }
}

/** A caller without types may have written a function that gives something else, or nothing. */
const isIterable = (given: unknown): boolean =>
  typeof given === 'object' && given !== null && (Symbol.asyncIterator in given || Symbol.iterator in given)

/** What is neither events nor a reply, a caller without types may yield too: it is refused as an event. */
function outputOf(yielded: Yielded): StepOutput {
  if (Array.isArray(yielded)) return { events: yielded as readonly Event[], outcome: null }
  const one = yielded as Event | Reply
  const isWhole = typeof one === 'object' && one !== null && 'events' in one && !('kind' in one)
  return isWhole ? one : { events: [one as Event], outcome: null }
}
