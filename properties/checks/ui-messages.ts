/** O2: AI SDK messages contain each item of the timeline once, in place. */

import { isTextPart, type Content } from '../../src/event/shapes.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import type { Fact } from '../../src/event/quarantine.ts'
import type { UIPart } from '../../src/messages/ui/types.ts'
import { replyId, replyParts, toUIMessages } from '../../src/messages/ui/write.ts'
import { type TimelineItem, toTimeline } from '../../src/messages/timeline.ts'
import type { Entry } from '../../src/log/entry.ts'
import type { State } from '../../src/state/state.ts'
import { hold, same, total } from '../../src/testing/failure.ts'
import { statesOf } from './replay.ts'

export function checkUIMessages(
  facts: readonly Fact[],
  met: (situation: string) => void = () => undefined,
): void {
  for (const [length, state] of statesOf(facts).entries()) {
    const messages = total('O2', `toUIMessages after ${length} facts`, () => toUIMessages(state))
    const items = toTimeline(state).filter(({ type }) => type !== 'system')
    const isUsers = (item: (typeof items)[number]): boolean =>
      item.type === 'message' && item.source === 'user'
    const users = messages.filter(({ role }) => role === 'user').map(({ id }) => id)
    same(
      'O2',
      `user messages after ${length} facts`,
      users,
      items.filter(isUsers).map(({ id }) => id),
    )
    const named = messages.flatMap(({ role, parts }) => (role === 'user' ? [] : parts.flatMap(nameOf)))
    const shown = items.filter(
      (item) => !isUsers(item) && !(item.type === 'message' && item.source === 'agent'),
    )
    same('O2', `parts after ${length} facts`, named.toSorted(), shown.map(({ id }) => id).toSorted())
    const shownTexts = messages.flatMap(({ role, parts }) => (role === 'user' ? [] : parts.flatMap(wordsOf)))
    const output = items.flatMap((item) => {
      if (isUsers(item) || (item.type !== 'call' && item.type !== 'message')) return []
      if (item.type === 'message' && item.source !== 'agent') return []
      const texts = item.content.flatMap((part: Content) => (isTextPart(part) ? part.text : []))
      return [item.reasoning, ...texts].filter((text) => text !== '')
    })
    hold(
      'O2',
      output.every((text) => shownTexts.includes(text)),
      `text of ${length} facts is missing`,
    )
    const turns = new Map(
      messages.flatMap(({ id, role, parts }) =>
        role === 'user' ? [] : parts.flatMap(nameOf).map((name) => [name, id] as const),
      ),
    )
    for (const item of shown) {
      const user = userOf(state, items.filter(isUsers), item)
      same(
        'O2',
        `the message that contains ${item.id}`,
        turns.get(item.id),
        replyId(user ?? state.conversationId),
      )
    }
    checkProgress(state, messages, met)
    if (named.join('\n') !== shown.map(({ id }) => id).join('\n')) met('reply in an earlier turn')
    for (const id of users) {
      const whole = messages.find((message) => message.id === replyId(id) && message.role === 'assistant')
      same('O2', `the reply to ${id} alone`, replyParts(state, id), whole?.parts ?? [])
    }
  }
}

/** A call's part has its latest progress; the replies after its own have a part for what was reported in them. */
function checkProgress(
  state: State,
  messages: ReturnType<typeof toUIMessages>,
  met: (situation: string) => void,
): void {
  const items = toTimeline(state, { progress: true })
  const replyOf = new Map(
    messages.flatMap(({ id, parts }) =>
      parts.flatMap((part) => ('toolCallId' in part ? [[part.toolCallId, { id, part }] as const] : [])),
    ),
  )
  const reports = new Map<string, Map<string, object>>()
  let turn = replyId(state.conversationId)
  for (const item of items) {
    if (item.type === 'message' && item.source === 'user') turn = replyId(item.id)
    if (item.type !== 'progress' || replyOf.get(item.report.action_id)?.id === turn) continue
    const { action_id, task: _, ...shown } = item.report
    const inTurn = reports.get(turn) ?? new Map<string, object>()
    inTurn.set(action_id, { ...inTurn.get(action_id), ...shown })
    reports.set(turn, inTurn)
    met('progress in a later turn')
  }
  for (const { id, role, parts } of messages) {
    if (role === 'user') continue
    const shown = parts.flatMap((part) => (part.type === 'data-progress' ? [[part.id, part.data]] : []))
    same('O2', `progress in ${id}`, shown, [...(reports.get(id) ?? [])])
  }
  for (const item of items) {
    const part = item.type === 'call' ? replyOf.get(item.id)?.part : undefined
    if (item.type !== 'call' || part === undefined) continue
    const isWorking = item.status === 'working'
    same('O2', `whether ${item.id} works`, 'preliminary' in part, isWorking)
    if (isWorking) {
      const { progress, content = 'output' in part && (part.output as JsonObject)['content'] } = {
        ...item.progress,
      }
      const output = { content, ...(progress !== undefined && { progress }) }
      same('O2', `progress of ${item.id}`, part, { ...part, state: 'output-available', output })
      met(item.progress === undefined ? 'works' : 'works with progress')
    }
    if (item.completion === undefined) continue
    const text = item.completion.content.flatMap((each) => (isTextPart(each) ? each.text : [])).join('\n')
    const end = item.completion.outcome === 'done' ? { output: text } : { errorText: text }
    if (item.completion.content.every(isTextPart)) same('O2', `end of ${item.id}`, part, { ...part, ...end })
    met(item.completion.outcome)
  }
}

const nameOf = (part: UIPart): string[] =>
  'toolCallId' in part ? [part.toolCallId] : 'data' in part && part.type !== 'data-progress' ? [part.id] : []

const wordsOf = (part: UIPart): string[] => ('text' in part ? [part.text] : [])

function userOf(state: State, users: readonly TimelineItem[], item: TimelineItem): string | undefined {
  const after = item.type === 'call' ? saidAfter(state.log.entries.get(item.seq)) : undefined
  const requests = [...state.log.entries].find((entry) => entry.inTree && entry.id === after)
  const isKnown = after === null || (requests !== undefined && requests.seq < item.seq)
  const last = isKnown ? (requests?.seq ?? -1) : item.seq
  return users.findLast(({ seq }) => seq <= last)?.id
}

function saidAfter(entry: Entry | null | undefined): unknown {
  const event = entry?.event
  if (event?.kind !== 'ActionEvent') return undefined
  const { reply } = event.tool_call as { readonly reply?: { readonly after?: unknown } }
  if (reply?.after === true) return entry?.parent?.id ?? null
  if (reply?.after === null || typeof reply?.after === 'string') return reply.after
  const before = entry?.parent?.event
  const isOfReply = before?.kind === 'ActionEvent' && before.llm_response_id === event.llm_response_id
  return isOfReply ? saidAfter(entry?.parent) : undefined
}
