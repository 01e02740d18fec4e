/** Collects the situations that the naive reading finds in a log. */

import type { Fact } from '../../src/event/quarantine.ts'
import type { Event } from '../../src/event/types.ts'
import { type BranchReading, readBranch } from './branch.ts'
import type { Note, Situation } from './notes.ts'
import { viewOf } from './naive.ts'
import { readStatuses } from './status.ts'
import { type Node, pathOf, readTree } from './tree.ts'
import { joinReason, hasPendingCall, hasThinking, type Unit } from './unit.ts'

/** Every situation of the log, on any branch. */
export function situationsOf(facts: readonly Fact[]): Set<Situation> {
  const result = new Set<Situation>()
  const note: Note = (situation) => result.add(situation)
  const nodes = readTree(facts)
  const seen = new Set<Event>()
  for (const [index, fact] of facts.entries()) {
    const node = nodes[index] as Node
    noteTree(nodes, node, fact, note)
    if (!node.inTree) continue
    const branch = readBranch(nodes, index, note)
    noteBranch(nodes, node, branch, note)
    for (const item of viewOf(branch.units)) seen.add(item.event)
  }
  for (const event of seen) noteShown(event, note)
  readStatuses(nodes, note)
  return result
}

function noteTree(nodes: readonly Node[], node: Node, fact: Fact, note: Note): void {
  const { position: index, warnings, inTree, parent } = node
  if (warnings.includes('duplicate_id')) note('duplicate_id')
  if (warnings.includes('unreadable_timestamp')) note('unreadable_timestamp')
  if (warnings.includes('head_ignored')) note('head_ignored')
  if (warnings.includes('quarantined')) note(inTree ? 'quarantined_in_tree' : 'quarantined_outside_tree')
  if (fact.id === undefined && node.id !== null) note('absent_id')
  const before = nodes[index - 1]?.head ?? null
  if (warnings.includes('unknown_parent')) {
    const later = nodes.slice(index + 1).some((each) => each.inTree && each.id === fact.parent_id)
    note(fact.parent_id === node.id ? 'self_parent' : later ? 'later_parent' : 'unknown_parent')
  }
  if (inTree && parent === null && nodes.slice(0, index).some((each) => each.inTree)) note('second_root')
  if (inTree && parent !== before) note('parent_is_not_head')
  if (parent !== null && nodes[parent]?.kind === 'ConversationStateUpdateEvent') note('parent_is_update')
  const sibling = (each: Node) => each.inTree && each.parent === parent && canBeHead(each)
  if (inTree && canBeHead(node) && nodes.slice(0, index).some(sibling)) note('fork')
  if (node.moved) {
    const value = node.event?.kind === 'ConversationStateUpdateEvent' ? node.event.value : null
    note(node.head === null && value === null ? 'head_emptied' : 'head_moved')
    if (
      typeof value === 'string' &&
      node.head !== nodes.findIndex((each) => each.inTree && each.id === value)
    ) {
      note('head_to_update')
    }
  }
}

const canBeHead = (node: Node): boolean => node.kind !== 'ConversationStateUpdateEvent'

const isDone = (unit?: Unit): boolean => unit?.type === 'batch' && !hasPendingCall(unit)

function noteBranch(nodes: readonly Node[], node: Node, branch: BranchReading, note: Note): void {
  const { units, unhandled, systemPrompt } = branch
  if (unhandled) note('unhandled_request')
  const items = viewOf(units)
  if (systemPrompt !== null && items.every(({ position: index }) => index !== systemPrompt))
    note('prompt_forgotten')
  if (new Set(items.map(({ id }) => id)).size < items.length) note('units_share_id')
  for (const [index, unit] of units.entries()) {
    if (!hasPendingCall(unit)) continue
    note('open_batch')
    if (index < units.length - 1) note('open_batch_inside')
  }
  const joins = units.map((_, index) => joinReason(units, index))
  if (joins.includes('loop')) note('thinking_loop')
  if (joins.includes('reply')) note('reply_continued')
  if (joins.some((join, index) => join === 'reply' && joins[index + 1] === 'reply'))
    note('reply_continued_twice')
  if (joins.some((join, index) => join === 'reply' && joins[index + 1] === null && isDone(units[index + 1])))
    note('reply_awaited')
  if (node.event?.kind === 'SystemPromptEvent' && readBranch(nodes, node.parent).systemPrompt !== null)
    note('second_prompt')
  if (node.event?.kind !== 'ActionEvent') return
  const { tool_call_id, llm_response_id } = node.event
  const earlier = pathOf(nodes, node.parent).flatMap((index) => {
    const event = nodes[index]?.event
    return event?.kind === 'ActionEvent' ? [event] : []
  })
  if (earlier.some((event) => event.tool_call_id === tool_call_id)) note('reused_call_id')
  if (llm_response_id === '') note('empty_response_id')
  else if (units.filter((unit) => unit.type === 'batch' && unit.response === llm_response_id).length > 1) {
    note('reused_response_id')
  }
  if (units.some((unit) => hasThinking(unit) && hasPendingCall(unit))) note('pending_thinking')
}

/** Reports content of a view that a provider may reject. */
function noteShown(event: Event, note: Note): void {
  const text = JSON.stringify(event)
  if (/\\ud[89a-f]../.test(text)) note('lone_surrogate')
  if (text.includes('"image_urls":["')) note('image_visible')
  if (/"encrypted_content":"[^"]/.test(text)) note('secret_visible')
  if (event.kind === 'MessageEvent' && (event.llm_message.tool_calls ?? []).length > 0)
    note('reply_with_calls')
  if (event.kind === 'ObservationEvent') {
    if ((event.observation.content ?? []).length === 0) note('empty_result')
    if (event.observation.is_error === true)
      note(event.tool_name === 'finish' ? 'failed_finish' : 'failed_result')
  }
  if (event.kind !== 'ActionEvent') return
  if (!isObjectText(event.tool_call.arguments)) note('arguments_not_object')
  if (event.tool_call.id !== event.tool_call_id) note('other_id_of_a_call')
  for (const block of event.thinking_blocks ?? []) {
    if (!('thinking' in block)) note('redacted_thinking')
    else note((block.signature ?? '') === '' ? 'unsigned_thinking' : 'signed_thinking')
  }
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}
