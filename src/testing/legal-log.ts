import * as fc from 'fast-check'
import { checkOptionNames } from '../event/check-value.ts'
import type { Event, EventOf } from '../event/types.ts'
import { ROOT } from '../event/ids.ts'
import { completionMessage, PROGRESS_KEY, WORKING } from '../event/completion.ts'
import { earlyEndOf, type ReplyRecord } from '../event/reply.ts'
import type { Action, Content, JsonObject, ThinkingBlock } from '../event/shapes.ts'
import type { Entry, EventEntry } from '../log/entry.ts'
import { listPendingCallsIn } from '../log/open-calls.ts'
import { listWorkingCalls } from '../state/read.ts'
import { reduce } from '../state/reduce.ts'
import { initialState, type State } from '../state/state.ts'
import type { Status } from '../state/status.ts'
import { cutPointsIn, viewEventsIn } from '../view/view.ts'
import { isDerived, isPending, stretchStarts, type Unit, unitEvents } from '../view/units.ts'
import { BODIES, frozen, signedThinking } from './event.ts'
import { plainContent } from './content.ts'
import { always, shape, weighed } from './shape.ts'
import { words } from './text.ts'

/**
 * Generates logs of a correct server, which may have stopped during a run. The logs have parallel calls,
 * results of every form and order, confirmation, rejection, pauses, errors, condensation, navigation and
 * branches. The logs replay without warnings. All events have ids and timestamps; either all or no events
 * have parents.
 * @example
 * fc.assert(fc.property(legalLog(), events => listWarnings(replay(events)).length === 0))
 */
export function legalLog(length: LegalLength = {}): fc.Arbitrary<readonly Event[]> {
  checkOptionNames(length, 'minCommands maxCommands')
  return legalPlan(length).map(writeLegalLog)
}

type Do<K extends Command['do']> = Extract<Command, { readonly do: K }>
type ActionEntry = EventEntry<EventOf<'ActionEvent'>>

/** Writes the log of any plan. Skips commands that a server would refuse. */
export function writeLegalLog(plan: LegalPlan): readonly Event[] {
  const server = new Server(plan)
  for (const command of plan.commands) server.obey(command)
  return server.events
}

const refs = (kind: 'thinking' | 'text' | 'call', count: number): JsonObject[] =>
  Array.from({ length: count }, (_, index) => ({ [kind]: index }))

const recorded = (record: ReplyRecord): { readonly reply?: ReplyRecord } =>
  Object.keys(record).length === 0 ? {} : { reply: record }

class Server {
  readonly events: Event[] = []
  #search = ''
  #waiting: number | null = null
  readonly #plan: LegalPlan
  #state: State = initialState()

  constructor(plan: LegalPlan) {
    this.#plan = plan
  }

  obey(command: Command): void {
    switch (command.do) {
      case 'say':
        return this.#say(command)
      case 'respond':
        return this.#respond(command)
      case 'result':
        return this.#result(command)
      case 'settle':
        for (const call of this.#open().toReversed()) this.#answerCall(call, command)
        return
      case 'report':
      case 'complete':
        return this.#ofWorking(command)
      case 'condense':
        return this.#condense(command)
      case 'go':
        return this.#go(command)
      case 'reply':
        return this.#reply(command)
      case 'finish':
        return this.#finish()
      case 'aside':
        return void this.#write(command.event)
      case 'approve':
      case 'resume':
        if (this.#is(command.do === 'approve' ? 'waiting_for_confirmation' : 'paused'))
          this.#setStatus('running')
        return
      case 'pause':
      case 'interrupt':
        if (this.#is('idle', 'running')) {
          this.#write({ kind: command.do === 'pause' ? 'PauseEvent' : 'InterruptEvent', source: 'user' })
          this.#setStatus('paused')
        }
        return
      case 'error':
        this.#write({
          kind: 'ConversationErrorEvent',
          source: 'environment',
          code: 'Timeout',
          detail: 'no reply',
        })
        this.#setStatus('error')
    }
  }

  #write(body: Event): void {
    const n = this.events.length
    const head = this.#state.log.head
    const parent = head === null ? (n === 0 ? null : ROOT) : head.id
    const event = frozen<Event>({
      ...body,
      id: `event-${n}`,
      timestamp: new Date(Date.UTC(2026, 0, 1) + n * 1000).toISOString(),
      ...(this.#plan.stamped ? { parent_id: parent } : {}),
    })
    this.events.push(event)
    this.#state = reduce(this.#state, event)
  }

  #is(...statuses: readonly Status[]): boolean {
    return statuses.includes(this.#state.header.status)
  }

  #open(): ActionEntry[] {
    return listPendingCallsIn(this.#state.branch.pendingCalls).map((call) => call.entry)
  }

  #setStatus(value: Status): void {
    this.#write({ kind: 'ConversationStateUpdateEvent', key: 'execution_status', value })
  }

  #say({ content, skills, late }: Do<'say'>): void {
    if (this.#open().length > 0 && !late) return
    if (this.#state.branch.systemPrompt === null) {
      this.#write({
        kind: 'SystemPromptEvent',
        system_prompt: { type: 'text', text: 'You are an agent.' },
        tools: [
          {
            kind: 'TerminalTool',
            title: 'terminal',
            description: 'Runs a command',
            action_type: 'TerminalAction',
          },
        ],
        dynamic_context: this.events.length === 0 ? null : { type: 'text', text: 'A new branch.' },
      })
    }
    this.#write({
      kind: 'MessageEvent',
      source: 'user',
      llm_message: { role: 'user', content },
      activated_skills: skills,
      extended_content: skills.map((name) => ({ type: 'text', text: `How to use ${name}` })),
    })
  }

  #mayRespond(): boolean {
    const ready = this.#open().length === 0 && this.#state.branch.lastUserMessage !== null
    if (!ready || this.#is('paused', 'deleting')) return false
    if (!this.#is('running')) this.#setStatus('running')
    return true
  }

  #asked(): ReplyRecord {
    return this.#plan.recorded ? { after: this.#state.log.head?.id ?? null } : {}
  }

  #searched(
    searches: boolean,
    { thinking, texts, calls }: { readonly thinking: number; readonly texts: number; readonly calls: number },
  ): ReplyRecord {
    const last = this.#state.branch.view.units.last()
    const isBehind = last?.first === this.#waiting && !(last?.type === 'message' && isDerived(last))
    const result = this.#waiting !== null && isBehind ? this.#search : null
    const search = `srvtoolu_${this.events.length}`
    if (searches) this.#search = search
    this.#waiting = null
    if (!searches && result === null) return {}
    const parts: JsonObject[] = [
      ...refs('thinking', thinking),
      ...(result === null
        ? []
        : [{ other: { type: 'web_search_tool_result', tool_use_id: result, content: [] } }]),
      ...refs('text', texts),
      ...(searches
        ? [{ other: { type: 'server_tool_use', id: search, name: 'web_search', input: { query: 'oak' } } }]
        : []),
      ...refs('call', calls),
    ]
    const waits = Number(searches) - Number(result !== null)
    return { grammar: 'anthropic', parts, ...(waits === 0 ? {} : { waits }) }
  }

  /**
   * Whether the next reply continues a paused reply, even after HEAD moved back. A continuation has no
   * thinking, because thinking starts a turn.
   */
  #goesOn(): boolean {
    if (this.#waiting !== null) return true
    const before = this.events[this.#state.branch.view.units.last()?.first ?? -1]
    return before !== undefined && earlyEndOf(before) === 'paused'
  }

  #hear({ content }: Pick<Do<'say'>, 'content'>): void {
    this.#write({ kind: 'MessageEvent', source: 'user', llm_message: { role: 'user', content } })
  }

  #reply({ content, meanwhile, pauses }: Do<'reply'>): void {
    if (!this.#mayRespond()) return
    const isPaused = pauses !== 'no'
    const record: ReplyRecord = {
      ...this.#asked(),
      ...this.#searched(isPaused, { thinking: 0, texts: content.length, calls: 0 }),
      ...(isPaused ? { stop_reason: 'pause_turn', outcome: 'paused' } : {}),
    }
    if (meanwhile !== null) this.#hear(meanwhile)
    if (isPaused) this.#waiting = this.events.length
    this.#write({
      kind: 'MessageEvent',
      source: 'agent',
      llm_message: { role: 'assistant', content, ...recorded(record) },
      llm_response_id: `reply-${this.events.length}`,
    })
    if (pauses === 'and_goes_on') this.#reply({ do: 'reply', content, meanwhile: null, pauses: 'no' })
    else this.#setStatus(meanwhile === null && !isPaused ? 'finished' : 'running')
  }

  #respond({ calls, text, thinking: thoughts, confirm, searches, meanwhile }: Do<'respond'>): void {
    if (!this.#mayRespond()) return
    const response = `response-${this.events.length}`
    const requested = this.#asked()
    const thinking = this.#goesOn() ? [] : thoughts
    const counts = { thinking: thinking.length, texts: text === null ? 0 : 1, calls: calls.length }
    const first = { ...requested, ...this.#searched(searches, counts) }
    for (const [n, call] of calls.entries()) {
      // Without a record, the calls of a reply must be contiguous.
      if (meanwhile !== null && n === (this.#plan.recorded ? meanwhile.position : 0)) this.#hear(meanwhile)
      if (n === 0 && searches) this.#waiting = this.events.length
      const id = this.#plan.reusedCallIds ? `call_${n}` : `call_${this.events.length}`
      const thought = n === 0 && text !== null ? [{ type: 'text' as const, text }] : []
      this.#write({
        kind: 'ActionEvent',
        thought,
        ...(n === 0 && thinking.length > 0 ? { thinking_blocks: thinking } : {}),
        action: call.action,
        tool_name: call.tool,
        tool_call_id: id,
        tool_call: {
          id,
          name: call.tool,
          arguments: call.arguments,
          origin: 'completion',
          ...recorded(n === 0 ? first : requested),
        },
        llm_response_id: response,
      })
    }
    if (confirm) this.#setStatus('waiting_for_confirmation')
  }

  #result(result: Do<'result'>): void {
    const open = this.#open()
    const call = open[result.n % Math.max(1, open.length)]
    if (call !== undefined) this.#answerCall(call, result)
  }

  #answerCall(call: ActionEntry, { form, content }: Do<'result'> | Do<'settle'>): void {
    const waits = this.#is('waiting_for_confirmation') && form !== 'rejected'
    if (!waits) this.#write(this.#answerTo(call, call.event.action === null ? 'error' : form, content))
  }

  #answerTo(call: ActionEntry, form: (typeof FORMS)[number], content: Do<'result'>['content']): Event {
    const { tool_name, tool_call_id } = call.event
    const link = { tool_name, tool_call_id, action_id: call.id }
    if (form === 'error') return { kind: 'AgentErrorEvent', tool_name, tool_call_id, error: 'no such tool' }
    if (form === 'rejected')
      return { kind: 'UserRejectObservation', ...link, rejection_reason: 'no', rejection_source: 'user' }
    if (form === 'blocked') {
      this.#write({
        kind: 'HookExecutionEvent',
        hook_event_type: 'PreToolUse',
        hook_command: './guard',
        success: false,
        exit_code: 2,
        blocked: true,
        action_id: call.id,
      })
      return { kind: 'UserRejectObservation', ...link, rejection_source: 'hook' }
    }
    const observation =
      form === 'working'
        ? { kind: WORKING, content, task: this.events.length }
        : { kind: 'ClientToolObservation', content, is_error: form === 'failure' }
    return { kind: 'ObservationEvent', ...link, observation }
  }

  #ofWorking(command: Do<'report'> | Do<'complete'>): void {
    const calls = listWorkingCalls(this.#state)
    const action = calls[command.n % Math.max(1, calls.length)]?.action
    if (action === undefined) return
    if (command.do === 'complete') {
      const { id: _, ...message } = completionMessage(action, command.content, 'done')
      this.#write(message)
      return
    }
    const value = { action_id: action.id, progress: 0.5, task: this.events.length }
    this.#write({ kind: 'ConversationStateUpdateEvent', key: PROGRESS_KEY, value })
  }

  #finish(): void {
    const action = { kind: 'FinishAction', message: 'done' }
    this.#respond({
      do: 'respond',
      calls: [{ tool: 'finish', action, arguments: '{"message":"done"}' }],
      text: null,
      thinking: [],
      confirm: false,
      searches: false,
      meanwhile: null,
    })
    const [call] = this.#open()
    if (call?.event.tool_name !== 'finish') return
    this.#write(this.#answerTo(call, 'result', [{ type: 'text', text: 'done' }]))
    this.#setStatus('finished')
  }

  /**
   * Condenses events between two cut points, but never the first unit or a stretch that contains a pending
   * call.
   */
  #condense({ from, to, summary, requested }: Do<'condense'>): void {
    const { view } = this.#state.branch
    const points = cutPointsIn(view).filter((point) => point > 0)
    const picked = [from, to].map((n) => points[n % Math.max(1, points.length)] ?? 0)
    const [start, end] = [Math.min(...picked), Math.max(...picked)]
    const ids = [...viewEventsIn(view)].slice(start, end).map((item) => item.id)
    if (start === 0 || this.#isGoneOnWith(new Set(ids))) return
    if (requested) this.#write({ kind: 'CondensationRequest' })
    this.#write({
      kind: 'Condensation',
      llm_response_id: `condenser-${this.events.length}`,
      forgotten_event_ids: ids,
      ...(summary === null ? {} : { summary, summary_offset: start }),
    })
  }

  #isGoneOnWith(ids: ReadonlySet<string>): boolean {
    const units = [...this.#state.branch.view.units]
    const starts = stretchStarts(units)
    const waiting = new Set(starts.filter((_, index) => isPending(units[index] as Unit)))
    return units.some(
      (unit, index) =>
        waiting.has(starts[index] ?? -1) && [...unitEvents(unit)].some(({ id }) => ids.has(id)),
    )
  }

  #go({ back }: Do<'go'>): void {
    const places: Entry[] = [...this.#state.log.entries].filter(({ canBeHead }) => canBeHead)
    const target = back === null ? null : places.at(-1 - (back % Math.max(1, places.length)))
    if (target === undefined) return
    const value = target?.id ?? null
    this.#write({ kind: 'ConversationStateUpdateEvent', key: 'leaf_event_id', value })
  }
}

/** A tool call for the generated log. `action` is null if the arguments are invalid. */
interface PlannedCall {
  readonly tool: string
  readonly action: Action | null
  readonly arguments: string
}

const plannedCall = fc.constantFrom<PlannedCall>(
  { tool: 'terminal', action: { kind: 'TerminalAction', command: 'ls' }, arguments: '{"command":"ls"}' },
  { tool: 'think', action: { kind: 'ThinkAction', thought: 'hm' }, arguments: '{"thought":"hm"}' },
  { tool: 'mine', action: { kind: 'ClientAction_mine', depth: 2 }, arguments: '{"depth":2}' },
  { tool: 'nope', action: null, arguments: '{"depth":' },
)

const FORMS = ['result', 'result', 'result', 'working', 'failure', 'rejected', 'blocked', 'error'] as const

const form = fc.constantFrom(...FORMS)

const oneIn = (count: number): fc.Arbitrary<boolean> => fc.nat(count - 1).map((n) => n === 0)

const meanwhile = weighed([4, always(null)], [1, shape({ content: plainContent, position: fc.nat(1) })])

const of = <T>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary })

/** Fields and weight of each command. A command that does not fit the state is skipped. */
const COMMANDS = {
  say: of(
    72,
    shape({
      content: plainContent,
      skills: weighed<readonly string[]>([4, always([])], [1, always(['git'])]),
      late: oneIn(5),
    }),
  ),
  respond: of(
    90,
    shape({
      calls: fc.array(plannedCall, { minLength: 1, maxLength: 3 }),
      text: fc.option(words),
      thinking: weighed<readonly ThinkingBlock[]>(
        [2, always([])],
        [1, fc.array(signedThinking, { minLength: 1, maxLength: 2 })],
      ),
      confirm: oneIn(4),
      searches: oneIn(5),
      meanwhile,
    }),
  ),
  result: of(
    108,
    shape({ n: fc.nat(2), form, content: weighed<readonly Content[]>([6, plainContent], [1, always([])]) }),
  ),
  settle: of(54, shape({ form, content: plainContent })),
  reply: of(
    27,
    shape({
      content: plainContent,
      meanwhile,
      /** Whether a web search by the provider pauses the reply, and whether the reply then continues. */
      pauses: fc.constantFrom('no', 'no', 'yes', 'and_goes_on', 'and_goes_on'),
    }),
  ),
  finish: of(16, always({})),
  approve: of(24, always({})),
  pause: of(8, always({})),
  interrupt: of(8, always({})),
  resume: of(8, always({})),
  error: of(8, always({})),
  report: of(18, shape({ n: fc.nat(3) })),
  complete: of(36, shape({ n: fc.nat(3), content: plainContent })),
  condense: of(
    27,
    shape({ from: fc.nat(20), to: fc.nat(20), summary: fc.option(words), requested: fc.boolean() }),
  ),
  go: of(27, shape({ back: fc.option(fc.nat(30), { freq: 6 }) })),
  aside: of(
    9,
    shape<{ readonly event: Event }>({
      event: fc.oneof(
        BODIES.TokenEvent,
        BODIES.LLMCompletionLogEvent,
        BODIES.ACPToolCallEvent,
        BODIES.ServerErrorEvent,
        BODIES.HookExecutionEvent,
      ),
    }),
  ),
}

type FieldsOf<A> = A extends { readonly arbitrary: fc.Arbitrary<infer Fields> } ? Fields : never

type CommandOf<K extends keyof typeof COMMANDS> = { readonly do: K } & FieldsOf<(typeof COMMANDS)[K]>

type Command = { [K in keyof typeof COMMANDS]: CommandOf<K> }[keyof typeof COMMANDS]

const command: fc.Arbitrary<Command> = fc.oneof(
  ...Object.entries(COMMANDS).map(([name, { weight, arbitrary }]) => ({
    weight,
    arbitrary: (arbitrary as fc.Arbitrary<object>).map((fields) => ({ do: name, ...fields }) as Command),
  })),
)

interface LegalPlan {
  /** Whether every event names its parent, as in logs of live servers. If not, no event names a parent. */
  readonly stamped: boolean
  readonly reusedCallIds: boolean
  readonly recorded: boolean
  readonly commands: readonly Command[]
}

/** Minimum and maximum number of the commands from which a log is generated. Each command appends a few events. */
export interface LegalLength {
  readonly minCommands?: number
  readonly maxCommands?: number
}

function legalPlan({ minCommands = 0, maxCommands }: LegalLength = {}): fc.Arbitrary<LegalPlan> {
  const commands = (maxLength: number) =>
    fc.array(command, { minLength: minCommands, maxLength, size: 'max' })
  return shape<LegalPlan>({
    stamped: fc.boolean(),
    reusedCallIds: fc.boolean(),
    recorded: fc.nat(2).map((n) => n > 0),
    commands:
      maxCommands === undefined ? weighed([9, commands(45)], [1, commands(90)]) : commands(maxCommands),
  })
}
