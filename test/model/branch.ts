/** A naive reading of one branch (U1 to U7, U9, U10): computes units, pending calls and more from its path. */

import type { ActionEvent, ToolResultEvent, Event } from '../../src/event/types.ts'
import { condense } from './condense.ts'
import { type Note, ignoreNote } from './notes.ts'
import { positionOf, type Node, pathOf } from './tree.ts'
import { itemsOf, type Item, hasPendingCall, type Unit } from './unit.ts'
import { isBlank } from '../../src/messages/rules.ts'

/** Numbers are positions in the log. */
export interface BranchReading {
  readonly units: readonly Unit[]
  readonly open: readonly number[]
  /** The working calls, with their `working` results. */
  readonly working: readonly (readonly [call: number, result: number])[]
  /** The messages that completed calls, by call. */
  readonly completions: ReadonlyMap<number, number>
  readonly unhandled: boolean
  readonly systemPrompt: number | null
  readonly lastUserMessage: number | null
  readonly skills: readonly string[]
  readonly dropped: readonly { readonly id: string; readonly reason: string }[]
  /** The result of each call that has one, even a forgotten one, by call. */
  readonly results: ReadonlyMap<number, number>
  /**
   * The condensation that removed an event or a summary from the view. A summary is identified by its own
   * condensation.
   */
  readonly forgottenBy: ReadonlyMap<string, string>
}

/** The ids of events in units, and the condensation ids of summaries. */
const namesIn = (units: readonly Unit[]): string[] =>
  units.flatMap(itemsOf).map(({ id, position: index }) => (index === null ? id.replace(/-summary$/, '') : id))

/** Reads the path from the root to a node, event by event. */
export function readBranch(
  nodes: readonly Node[],
  offset: number | null,
  note: Note = ignoreNote,
): BranchReading {
  const path = pathOf(nodes, offset)
  let units: Unit[] = []
  let open: number[] = []
  let working: [call: number, result: number][] = []
  const completions = new Map<number, number>()
  let unhandled = false
  let systemPrompt: number | null = null
  let lastUserMessage: number | null = null
  const skills: string[] = []
  const dropped: { id: string; reason: string }[] = []
  const results = new Map<number, number>()
  const forgottenBy = new Map<string, string>()

  for (const [step, position] of path.entries()) {
    const node = nodes[position] as Node
    const { event, id } = node
    if (event === null || id === null) continue
    const item: Item = { id, position, event }
    switch (event.kind) {
      case 'SystemPromptEvent':
        systemPrompt = position
        units = withMessage(units, item, [])
        break
      case 'CondensationSummaryEvent':
        units = withMessage(units, item, [])
        break
      case 'MessageEvent':
        if (event.source === 'user') lastUserMessage = position
        for (const name of event.activated_skills ?? []) {
          if (!skills.includes(name)) skills.push(name)
        }
        {
          const completed = completedBy(nodes, node, event, working, note)
          units = withMessage(units, item, passedBy(units, nodes, item, note), completed)
          working = working.filter(([call]) => call !== completed)
          if (completed !== null) completions.set(completed, position)
        }
        break
      case 'ActionEvent': {
        const passed = passedBy(units, nodes, item, note)
        const before = units.slice(0, units.length - passed.length)
        units = [...withCall(before, passed, item, event, note), ...passed]
        open = [...open, position]
        break
      }
      case 'ObservationEvent':
      case 'UserRejectObservation':
      case 'AgentErrorEvent': {
        const call = callFor(nodes, path.slice(0, step), node, event, open, note)
        if (typeof call === 'string') {
          dropped.push({ id, reason: call })
          note(call)
          break
        }
        open = open.filter((index) => index !== call)
        results.set(call, position)
        if (event.kind === 'ObservationEvent' && event.observation.kind === 'WorkingObservation') {
          working = [...working, [call, position]].toSorted(
            ([a], [b]) => (a as number) - (b as number),
          ) as typeof working
          note('call_working')
          if (open.length > 0) note('working_in_open_batch')
        }
        const index = units.findIndex(
          (unit) => unit.type === 'batch' && unit.calls.some((each) => each.position === call),
        )
        if (index < 0) {
          note('late_answer')
          dropped.push({ id, reason: 'orphan_result' })
          break
        }
        units = units.map((unit, i) =>
          i === index && unit.type === 'batch'
            ? { ...unit, results: [...unit.results, { ...item, call }] }
            : unit,
        )
        break
      }
      case 'Condensation': {
        const before = namesIn(units)
        units = condense(units, { id, timestamp: node.timestamp, event }, note)
        const stored = new Set(namesIn(units))
        for (const each of before) if (!stored.has(each)) forgottenBy.set(each, id)
        unhandled = false
        break
      }
      case 'CondensationRequest':
        unhandled = true
        break
      default:
        break
    }
  }
  return {
    units,
    open,
    working,
    completions,
    unhandled,
    systemPrompt,
    lastUserMessage,
    skills,
    dropped,
    results,
    forgottenBy,
  }
}

/** U2: adds a call to the last unit, or starts a batch. */
function withCall(
  units: Unit[],
  passed: readonly Unit[],
  item: Item,
  event: ActionEvent,
  note: Note,
): Unit[] {
  const last = units.at(-1)
  const sameResponse =
    last?.type === 'batch' &&
    event.llm_response_id !== '' &&
    last.response === event.llm_response_id &&
    last.calls.every(
      (call) => call.event.kind !== 'ActionEvent' || call.event.tool_call_id !== event.tool_call_id,
    )
  if (last?.type === 'batch' && sameResponse) {
    const waits = hasPendingCall(last)
    const onlyErrors = last.results.every((answer) => answer.event.kind === 'AgentErrorEvent')
    if (waits || (onlyErrors && !bringsThought(event))) {
      note('batch_of_many')
      if (waits && last.results.length > 0) note('interleaved_batch')
      if (passed.length > 0) note('rejoined_before_messages')
      if (!waits) note('rejoined_after_errors')
      return [...units.slice(0, -1), { ...last, calls: [...last.calls, item] }]
    }
    if (onlyErrors) note('not_rejoined_for_thought')
  }
  const rank = rankOf(units, item, passed)
  return [...units, { type: 'batch', rank, response: event.llm_response_id, calls: [item], results: [] }]
}

/** Adds a message at the end, or before the units that it precedes. */
function withMessage(
  units: readonly Unit[],
  item: Item,
  passed: readonly Unit[],
  completes: number | null = null,
): Unit[] {
  const before = units.slice(0, units.length - passed.length)
  const unit: Unit = {
    type: 'message',
    rank: rankOf(before, item, passed),
    item,
    ...(completes !== null && { completes }),
  }
  return [...before, unit, ...passed]
}

/** U11: the position of the working call that a message completes; an action id wins over a call id. */
function completedBy(
  nodes: readonly Node[],
  node: Node,
  event: Event,
  working: readonly (readonly [call: number, result: number])[],
  note: Note,
): number | null {
  if (event.kind !== 'MessageEvent' || event.source !== 'environment') return null
  const { role, completes } = event.llm_message as {
    role: string
    completes?: { action_id?: unknown } | null
  }
  const actionId = completes?.action_id
  if (role !== 'user' || Array.isArray(completes) || typeof actionId !== 'string') return null
  const call = working.find(([index]) => nodes[index]?.id === actionId)
  const before = nodes.slice(0, node.position)
  if (call !== undefined) note('call_completed')
  else if (before.some((each) => isCompletion(each.event, actionId))) note('completed_again')
  else note('completion_without_call')
  return call?.[0] ?? null
}

const isCompletion = (event: Event | null, actionId: string): boolean =>
  event?.kind === 'MessageEvent' &&
  (event.llm_message as { completes?: { action_id?: unknown } | null }).completes?.action_id === actionId

const rankOf = (before: readonly Unit[], item: Item, passed: readonly Unit[]): number =>
  passed.length === 0 ? (item.position ?? -1) : (before.at(-1)?.rank ?? -1)

/** U10: the last units, which a reply precedes because they were appended after its request. */
function passedBy(units: readonly Unit[], nodes: readonly Node[], item: Item, note: Note): readonly Unit[] {
  const replyPosition = item.position ?? 0
  const after = afterOf(item.event)
  if (after === undefined) return []
  const parent = nodes[replyPosition]?.parent ?? null
  if (after === true) note('requested_at_parent')
  const requested =
    after === null ? null : after === true ? parent : positionOf(nodes.slice(0, replyPosition), after)
  const isUpdate = requested !== null && nodes[requested]?.kind === 'ConversationStateUpdateEvent'
  if (after !== null && after !== true && (requested === null || isUpdate)) {
    note(
      nodes.some((node) => node.id === after && node.position > replyPosition)
        ? 'requested_at_later'
        : 'requested_at_nothing',
    )
    return []
  }
  if (requested !== null) {
    if (!pathOf(nodes, replyPosition).includes(requested)) note('requested_on_another_branch')
    else if (!units.some((unit) => itemsOf(unit).some(({ position }) => position === requested)))
      note('requested_at_forgotten')
  }
  const boundary = units.findLastIndex(
    (unit) =>
      unit.type === 'batch' ||
      afterOf(unit.item.event) !== undefined ||
      (unit.item.position !== null && unit.item.position <= (requested ?? -1)),
  )
  const later = units.slice(boundary + 1)
  if (later.length > 1_024) return []
  const first = later.findIndex((unit) => unit.type === 'message' && unit.item.position !== null)
  if (first < 0) return []
  note('reply_placed')
  if (later.slice(first).some((unit) => unit.type === 'message' && unit.item.position === null)) {
    note('reply_before_summary')
  }
  return later.slice(first)
}

/** The `after` of a reply's record; undefined if unreadable. */
function afterOf(event: Event): string | true | null | undefined {
  const text =
    event.kind === 'ActionEvent'
      ? (event.tool_call as { reply?: unknown }).reply
      : event.kind === 'MessageEvent' && event.source === 'agent'
        ? (event.llm_message as { reply?: unknown }).reply
        : null
  if (typeof text !== 'object' || text === null || Array.isArray(text)) return undefined
  const { after } = text as { after?: unknown }
  return typeof after === 'string' || after === true || after === null ? after : undefined
}

function bringsThought(event: ActionEvent): boolean {
  const thought = event.thought.some((part) => !isBlank(part.text))
  const reasoning =
    !isBlank(event.reasoning_content ?? '') || (event.responses_reasoning_item ?? null) !== null
  return thought || reasoning || (event.thinking_blocks ?? []).length > 0
}

/** U3: the position of the open call that a result matches, or why none does. */
function callFor(
  nodes: readonly Node[],
  path: readonly number[],
  node: Node,
  answer: ToolResultEvent,
  open: readonly number[],
  note: Note,
): number | 'duplicate_result' | 'orphan_result' {
  const actionId = answer.kind === 'AgentErrorEvent' ? null : answer.action_id
  const target = actionId === null ? null : positionOf(nodes.slice(0, node.position), actionId)
  if (target !== null) {
    const isCall = nodes[target]?.event?.kind === 'ActionEvent'
    if (!isCall) return 'orphan_result'
    if (!path.includes(target)) {
      note('foreign_answer')
      return 'orphan_result'
    }
    return open.includes(target) ? target : 'duplicate_result'
  }
  const calls = path.filter((index) => {
    const event = nodes[index]?.event
    return event?.kind === 'ActionEvent' && event.tool_call_id === answer.tool_call_id
  })
  const waiting = calls.filter((index) => open.includes(index))
  if (waiting.length > 1) note('two_open_calls_of_one_id')
  const latest = waiting.at(-1)
  if (latest !== undefined) {
    note('answer_by_call_id')
    return latest
  }
  return calls.length > 0 ? 'duplicate_result' : 'orphan_result'
}
