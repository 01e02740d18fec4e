/** A naive reading of one branch (U1 to U7, U9): nodes and a path go in, units, open calls and the like come out. */

import type { ActionEvent, AnswerEvent } from '../../src/event/types.ts'
import { condensed } from './condense.ts'
import { type Note, silent } from './notes.ts'
import { named, type Node, pathOf } from './tree.ts'
import { type Item, pending, type Unit } from './unit.ts'

/** What a branch says. Numbers are positions in the log. */
export interface BranchReading {
  readonly units: readonly Unit[]
  readonly open: readonly number[]
  readonly unhandled: boolean
  readonly systemPrompt: number | null
  readonly lastUserMessage: number | null
  readonly skills: readonly string[]
  readonly dropped: readonly { readonly id: string; readonly reason: string }[]
}

/** Reads the path to a node from its root, one event after the other. */
export function readBranch(nodes: readonly Node[], at: number | null, note: Note = silent): BranchReading {
  const path = pathOf(nodes, at)
  let units: Unit[] = []
  let open: number[] = []
  let unhandled = false
  let systemPrompt: number | null = null
  let lastUserMessage: number | null = null
  const skills: string[] = []
  const dropped: { id: string; reason: string }[] = []

  for (const [step, here] of path.entries()) {
    const node = nodes[here] as Node
    const { event, id } = node
    if (event === null || id === null) continue
    const item: Item = { id, at: here, event }
    switch (event.kind) {
      case 'SystemPromptEvent':
        systemPrompt = here
        units = [...units, { type: 'message', item }]
        break
      case 'CondensationSummaryEvent':
        units = [...units, { type: 'message', item }]
        break
      case 'MessageEvent':
        if (event.source === 'user') lastUserMessage = here
        for (const name of event.activated_skills ?? []) {
          if (!skills.includes(name)) skills.push(name)
        }
        units = [...units, { type: 'message', item }]
        break
      case 'ActionEvent':
        units = withCall(units, item, event, note)
        open = [...open, here]
        break
      case 'ObservationEvent':
      case 'UserRejectObservation':
      case 'AgentErrorEvent': {
        const call = callFor(nodes, path.slice(0, step), node, event, open, note)
        if (typeof call === 'string') {
          dropped.push({ id, reason: call })
          note(call)
          break
        }
        open = open.filter((position) => position !== call)
        const index = units.findIndex(
          (unit) => unit.type === 'batch' && unit.calls.some((each) => each.at === call),
        )
        if (index < 0) {
          note('late_answer')
          dropped.push({ id, reason: 'orphan_answer' })
          break
        }
        units = units.map((unit, i) =>
          i === index && unit.type === 'batch'
            ? { ...unit, answers: [...unit.answers, { ...item, call }] }
            : unit,
        )
        break
      }
      case 'Condensation':
        units = condensed(units, { id, timestamp: node.timestamp, event }, note)
        unhandled = false
        break
      case 'CondensationRequest':
        unhandled = true
        break
      default:
        break
    }
  }
  return { units, open, unhandled, systemPrompt, lastUserMessage, skills, dropped }
}

/** U2: into the last unit, or a batch of its own. */
function withCall(units: Unit[], item: Item, event: ActionEvent, note: Note): Unit[] {
  const last = units.at(-1)
  const sameResponse =
    last?.type === 'batch' &&
    event.llm_response_id !== '' &&
    last.response === event.llm_response_id &&
    last.calls.every(
      (call) => call.event.kind !== 'ActionEvent' || call.event.tool_call_id !== event.tool_call_id,
    )
  if (last?.type === 'batch' && sameResponse) {
    const waits = pending(last)
    const onlyErrors = last.answers.every((answer) => answer.event.kind === 'AgentErrorEvent')
    if (waits || (onlyErrors && !bringsThought(event))) {
      note('batch_of_many')
      if (waits && last.answers.length > 0) note('interleaved_batch')
      if (!waits) note('rejoined_after_errors')
      return [...units.slice(0, -1), { ...last, calls: [...last.calls, item] }]
    }
    if (onlyErrors) note('not_rejoined_for_thought')
  }
  return [...units, { type: 'batch', response: event.llm_response_id, calls: [item], answers: [] }]
}

function bringsThought(event: ActionEvent): boolean {
  const thought = event.thought.some((part) => part.text.trim() !== '')
  const reasoning =
    (event.reasoning_content ?? '').trim() !== '' || (event.responses_reasoning_item ?? null) !== null
  return thought || reasoning || (event.thinking_blocks ?? []).length > 0
}

/** U3: the position of the open call that an answer goes to, or why it goes to none. */
function callFor(
  nodes: readonly Node[],
  path: readonly number[],
  node: Node,
  answer: AnswerEvent,
  open: readonly number[],
  note: Note,
): number | 'duplicate_answer' | 'orphan_answer' {
  const actionId = answer.kind === 'AgentErrorEvent' ? null : answer.action_id
  const target = actionId === null ? null : named(nodes.slice(0, node.at), actionId)
  if (target !== null) {
    const isCall = nodes[target]?.event?.kind === 'ActionEvent'
    if (!isCall) return 'orphan_answer'
    if (!path.includes(target)) {
      note('foreign_answer')
      return 'orphan_answer'
    }
    return open.includes(target) ? target : 'duplicate_answer'
  }
  const calls = path.filter((at) => {
    const event = nodes[at]?.event
    return event?.kind === 'ActionEvent' && event.tool_call_id === answer.tool_call_id
  })
  const waiting = calls.filter((at) => open.includes(at))
  if (waiting.length > 1) note('two_open_calls_of_one_id')
  const latest = waiting.at(-1)
  if (latest !== undefined) {
    note('answer_by_call_id')
    return latest
  }
  return calls.length > 0 ? 'duplicate_answer' : 'orphan_answer'
}
