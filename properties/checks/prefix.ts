/** M12, M13, M15: a scripted conversation with a provider that validates its signed reasoning. */

import { observationMasking } from '../../src/context/masking.ts'
import { redact } from '../../src/context/redaction/redact.ts'
import { redactionRules } from '../../src/context/redaction/rules.ts'
import { openCallsOf } from '../../src/conversation/decide.ts'
import { decideComplete, workingTip } from '../../src/conversation/late-results.ts'
import { completionMessage, WORKING } from '../../src/event/completion.ts'
import type { ActionEvent, Event } from '../../src/event/types.ts'
import type { MessageOptions, NeutralMessage } from '../../src/messages/message.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { reduce, replay } from '../../src/state/reduce.ts'
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot.ts'
import { listWorkingCalls } from '../../src/state/read.ts'
import { initialState, type State } from '../../src/state/state.ts'
import { isPending } from '../../src/view/units.ts'
import { viewEventsIn } from '../../src/view/view.ts'
import { type Part, recordOf, replyParts, type WireGrammar, WIRES } from '../wire/reply.ts'
import { same } from '../../src/testing/failure.ts'
import { grammarNamed } from '../../src/messages/grammars.ts'
import { checkWorking, GRAMMARS } from './messages.ts'
import { checkRequest, frozen, startRequests } from './request-cache.ts'
import { checkSent, type ReplyContext, send, type SentOccurrence } from '../wire/sent.ts'

export type Command =
  | { readonly do: 'user' | 'blank' | 'environment' | 'snapshot' | 'reopen' }
  /** Calls the model. Users speak during the reply (`meanwhile`) or before the results arrive (`late`). */
  | {
      readonly do: 'request'
      readonly parts: readonly Part[]
      readonly meanwhile: number
      readonly late: number
      /** How many of its calls work, and whether the first of them is completed while it is pending. */
      readonly works?: number
      readonly isEarly?: boolean
      /** Completes a call that works while the model replies. */
      readonly completes?: number
    }
  /** Completes a call, counted from the latest, which may not be working: through the engine or directly. */
  | { readonly do: 'complete'; readonly call: number; readonly isDecided: boolean }
  /** Moves HEAD back by this many messages, or to the call before, whose results arrive again. */
  | { readonly do: 'back' | 'into'; readonly by: number }
  /** Deliberately changes the past. */
  | { readonly do: 'system' | 'append' | 'redact' | 'alter' | 'clip' | 'tools' }
  /** Switches between two models. */
  | { readonly do: 'model' }
  /** Masks old results from now on, in strides of this many tokens. */
  | { readonly do: 'mask'; readonly stride: number }
  | { readonly do: 'condense'; readonly events: number }

export type Occurrence =
  | SentOccurrence
  | 'steered'
  | 'thinking_between_texts'
  | 'another_branch'
  | 'signed_after_masks'
  | 'mask_moved'
  | 'another_model'
  | 'shared'
  | WorkOccurrence

/** What happened to calls that outlive their reply. */
export type WorkOccurrence =
  | 'sent_while_many_work'
  | 'completed'
  | 'completed_early'
  | 'completed_again'
  | 'completed_while_the_model_replies'
  | 'completed_on_another_branch'
  | 'completed_after_a_condensation'

export const PLAIN: ReadonlySet<Part> = new Set(['think', 'say', 'call'])

/** With the earlier calls whose results were masked in its request. */
interface Masked extends ReplyContext {
  readonly by: string
  readonly masked: readonly string[]
}

export function playWire(grammar: WireGrammar, commands: readonly Command[]): Occurrence[] {
  const { limits } = WIRES[grammar]
  // Replies are sent as they were signed, also with what a request should not contain.
  const replies = commands.flatMap((command) => (command.do === 'request' ? [command.parts] : []))
  // No provider signs a reply whose thinking is behind its text or its calls.
  const isPlain = replies.every((parts) =>
    parts.every((part, i) => PLAIN.has(part) && (part !== 'think' || i === 0 || parts[i - 1] === 'think')),
  )
  const rules = GRAMMARS.find(({ law }) => isPlain && law === grammarNamed(grammar).law)
  const occurred: Occurrence[] = []
  const input = new Map<string, Masked>()
  /** Number of the latest reply, which `redact` and `alter` change. */
  let latest = 0
  const actions: ActionEvent[] = []
  const works = new Set<string>()
  let tools: { name: string }[] = [{ name: 'ls' }]
  let model = 'one'
  let options: MessageOptions = { system: 'append' }
  let mask = observationMasking({ stride: Infinity })
  let facts: Event[] = []
  let state: State = initialState()
  const requests = startRequests()
  const put = (event: Event): void => {
    facts.push(frozen(event))
    state = reduce(state, event)
  }
  const next = (): string => `e${facts.length}`
  const say = (source: 'user' | 'environment', text: string): void =>
    put({ kind: 'MessageEvent', id: next(), source, llm_message: { role: 'user', content: [{ text }] } })
  const result = (action_id: string, tool_call_id: string, text: string): void => {
    const observation = works.has(action_id) ? { kind: WORKING, task: action_id } : { kind: 'X' }
    put({
      kind: 'ObservationEvent',
      id: next(),
      tool_name: 'ls',
      tool_call_id,
      action_id,
      observation: { ...observation, content: [{ text }] },
    })
  }
  const changed = (): void => {
    for (const [name, reply] of input) input.set(name, { ...reply, isIntact: false })
  }
  const complete = (call: number, isDecided: boolean): void => {
    const event = actions.at(-1 - (call % actions.length))
    if (event?.id === undefined) return
    // A snapshot may have evicted its branch.
    state = replay(facts)
    const { id } = event
    const content = [{ text: `end of ${id}, ${facts.length}` }]
    const tip = workingTip(state, id)
    if (tip !== undefined) {
      occurred.push(tip === null ? 'completed' : 'completed_on_another_branch')
      if (facts.some(({ kind }) => kind === 'Condensation')) occurred.push('completed_after_a_condensation')
    } else if (works.has(id)) occurred.push('completed_again')
    if (isDecided && tip === undefined) return
    if (isDecided) for (const each of decideComplete(state, id, content)) put({ id: next(), ...each })
    else put({ ...completionMessage({ id, event }, content, 'done'), id: next() })
  }
  put({ kind: 'SystemPromptEvent', id: next(), system_prompt: { text: 'Be brief.' }, tools: [] })
  say('user', 'hello')

  const callModel = (command: Extract<Command, { do: 'request' }>): void => {
    const whole = toMessages(state, options)
    const sent = send(grammar, mask(whole), tools, model)
    if (checkRequest(requests, grammar, state, options, { tools, model }, mask)) occurred.push('shared')
    occurred.push(...checkSent(grammar, sent, standing(whole, sent.messages)))
    checkWorking(
      state,
      whole,
      [...state.branch.view.units].filter((unit) => !isPending(unit)),
    )
    if (listWorkingCalls(state).length > 1) occurred.push('sent_while_many_work')
    same('M18', `${grammar}: broken rules`, rules?.judge(sent.request, options) ?? [], [])
    latest = facts.length
    const { works: count = 0 } = command
    const isAsync = (index: number): boolean => index < count && index % 2 === 0
    const script = { number: latest, word: `word number ${latest}`, tool: () => 'ls', isAsync }
    const reply = replyParts(grammar, sent.seen, command.parts, script)
    const after = state.log.head?.id ?? null
    input.set(reply.model, {
      seen: sent.seen,
      signed: reply.signed,
      signedAt: reply.signedAt,
      masked: maskedCalls(whole, sent.messages),
      isIntact: true,
      by: model,
    })
    for (let n = 0; n < command.meanwhile; n += 1) say('user', `by the way ${facts.length}`)
    if (command.meanwhile > 0) occurred.push('steered')
    if (reply.isMixed) occurred.push('thinking_between_texts')
    if (command.completes !== undefined) {
      const before = occurred.length
      complete(command.completes, false)
      if (occurred[before] === 'completed') occurred.push('completed_while_the_model_replies')
    }
    for (const event of reply.events({ ...recordOf(grammar, reply, sent.request, model), after })) {
      put(event)
      if (event.kind === 'ActionEvent') actions.push(event)
    }
    if (command.isEarly === true && reply.calls.length > 0) {
      complete(0, false)
      occurred.push('completed_early')
    }
    for (const { event_id } of reply.calls.slice(0, count)) works.add(event_id)
    for (let n = 0; n < command.late; n += 1) say('user', `wait ${facts.length}`)
    for (const { event_id, call, text } of reply.calls) result(event_id, call, text)
  }

  /** Signatures stay valid for the same model and the same masked results. */
  const standing = (
    whole: readonly NeutralMessage[],
    messages: readonly NeutralMessage[],
  ): ReadonlyMap<string, ReplyContext> => {
    const now = new Map<string, ReplyContext>(input)
    for (const [index, message] of messages.entries()) {
      const name = message.role === 'assistant' ? (message.reply?.model ?? '') : ''
      const reply = input.get(name)
      if (reply?.isIntact !== true) continue
      if (reply.by !== model) {
        now.set(name, { ...reply, isIntact: false })
        if (reply.signed > 0) occurred.push('another_model')
        continue
      }
      const isMoved = String(maskedCalls(whole.slice(0, index), messages)) !== String(reply.masked)
      if (isMoved) now.set(name, { ...reply, isIntact: false })
      if (isMoved) occurred.push('mask_moved')
      else if (reply.signed > 0 && reply.masked.length > 0) occurred.push('signed_after_masks')
    }
    return now
  }

  for (const command of commands) {
    switch (command.do) {
      case 'user':
      case 'environment':
        say(command.do, `and ${facts.length}`)
        break
      case 'blank':
        say('user', ' \u0085')
        break
      case 'snapshot': {
        const opened = decodeSnapshot(encodeSnapshot(state), '')
        if (opened !== null) state = opened
        break
      }
      case 'reopen':
        state = replay(facts)
        break
      case 'request':
        callModel(command)
        break
      case 'complete':
        complete(command.call, command.isDecided)
        break
      case 'back':
      case 'into': {
        const kind = command.do === 'back' ? 'MessageEvent' : 'ActionEvent'
        const events = [...viewEventsIn(state.branch.view)].filter(({ event }) => event.kind === kind)
        const target = events.at(-1 - command.by)
        if (target === undefined) break
        // A snapshot may have evicted the entry.
        state = replay(facts)
        occurred.push('another_branch')
        put({ kind: 'ConversationStateUpdateEvent', id: next(), key: 'leaf_event_id', value: target.id })
        for (const { id, event } of openCallsOf(state)) result(id, event.tool_call_id, 'again')
        break
      }
      case 'system':
      case 'append':
        if (command.do === 'system' || options.system === 'replace' || !limits.appends) {
          options = { ...options, system: 'replace' }
          changed()
        }
        put({
          kind: 'SystemPromptEvent',
          id: next(),
          system_prompt: { text: `Now ${facts.length}.` },
          tools: [],
        })
        break
      case 'redact': {
        const rules = redactionRules({ patterns: [new RegExp(`word number ${latest}\\b`)] })
        facts = facts.map((fact) => redact(fact, rules))
        state = replay(facts)
        changed()
        break
      }
      case 'alter': {
        // A program that ignores signatures: only the reply's digest reveals the change.
        const [was, is] = [`"text":"word number ${latest} `, `"text":"another word ${latest} `]
        facts = facts.map((fact) => JSON.parse(JSON.stringify(fact).replaceAll(was, is)) as Event)
        state = replay(facts)
        changed()
        break
      }
      case 'clip':
        options = { ...options, maxResultLength: 3 }
        changed()
        break
      case 'model':
        model = model === 'one' ? 'two' : 'one'
        break
      case 'mask':
        mask = observationMasking({ keepLast: 1, stride: command.stride, placeholder: '' })
        break
      case 'tools':
        tools = [...tools, { name: `t${tools.length}` }]
        changed()
        break
      case 'condense': {
        // A forgotten system prompt is sent while it is the latest, then replaced by the next.
        const ids = [...viewEventsIn(state.branch.view)]
          .slice(0, command.events)
          .filter(({ event }) => event.kind !== 'SystemPromptEvent')
          .map(({ id }) => id)
        put({
          kind: 'Condensation',
          id: next(),
          forgotten_event_ids: ids,
          summary: 'so far',
          summary_offset: 0,
          llm_response_id: next(),
        })
        changed()
        break
      }
    }
  }
  callModel({ do: 'request', parts: ['say'], meanwhile: 0, late: 0 })
  return occurred
}

const maskedCalls = (whole: readonly NeutralMessage[], masked: readonly NeutralMessage[]): string[] =>
  whole.flatMap((message, index) =>
    message.role === 'tool' && message !== masked[index] ? [message.tool_call_id] : [],
  )

const requesting = (...parts: Part[]): Command => ({ do: 'request', parts, meanwhile: 1, late: 0 })

/** Everything that can invalidate signed parts. */
const SCRIPT: readonly Command[] = [
  requesting('think', 'say', 'think', 'call'),
  requesting('think', 'call', 'call'),
  { do: 'append' },
  { do: 'model' },
  requesting('think', 'search', 'blank', 'redacted', 'say'),
  { do: 'back', by: 1 },
  requesting('redacted', 'call'),
  { do: 'system' },
  requesting('think', 'call'),
  requesting('think'),
  { do: 'condense', events: 4 },
  requesting('think', 'call'),
  { do: 'tools' },
  requesting('redacted', 'say', 'redacted', 'call'),
  { do: 'redact' },
  requesting('think', 'say', 'redacted', 'call'),
  { do: 'alter' },
  requesting('think'),
]

let isPlayed = false

/** Runs once, because it depends on no log. */
export function checkWire(): void {
  if (isPlayed) return
  isPlayed = true
  for (const grammar of Object.keys(WIRES) as WireGrammar[]) playWire(grammar, SCRIPT)
}
