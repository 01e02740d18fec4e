import { checkOptionNames } from '../event/check-value.ts'
import { type Content, isTextPart } from '../event/shapes.ts'
import { isFinalReply } from '../state/status.ts'
import type { State } from '../state/state.ts'
import type { ConversationRecord, NewConversation } from '../store/contract/conversation-record.ts'
import type { Store } from '../store/contract/store.ts'
import { nullOn } from '../event/errors.ts'
import { objectOf } from '../messages/text.ts'
import { unknownConversation } from '../store/kit/errors.ts'
import { CHILD_TAGS } from './engine-context.ts'
import type { RunOptions, RunResult } from './run/options.ts'
import type { ChildReply, ChildRequest, Step } from './run/step.ts'
import { keyedId } from '../event/ids.ts'

interface Child {
  sendMessage(text: string, options: { readonly key: string }): Promise<unknown>
  run(step: Step, options: RunOptions): Promise<RunResult>
  state(): Promise<State>
}

const MAX_DEPTH = 4
const MAX_CHILDREN = 1_000

const childId = (parentId: string, actionId: string): string => keyedId('child', parentId, actionId)

/**
 * Runs the child of a call, creating it if needed. Running the call again continues the child, because its id
 * and the key of its first message are derived from the parent and the call.
 */
export async function runChild(
  store: Store,
  open: (id: string) => Child,
  parent: { readonly id: string; readonly actionId: string },
  request: ChildRequest,
): Promise<ChildReply> {
  checkOptionNames(request, 'text step title maxDepth maxChildren run signal onOpen')
  const { text, step, title = null, run = {}, signal, onOpen } = request
  const { maxDepth = MAX_DEPTH, maxChildren = MAX_CHILDREN } = request
  const id = childId(parent.id, parent.actionId)
  if ((await store.getConversation(id)) === null) {
    const parentRecord = await store.getConversation(parent.id)
    const depth = depthOf(parentRecord) + 1
    // Negated, so that a maximum that is not a number allows no child.
    if (!(depth <= maxDepth)) throw new Error(`Subagents can be nested at most ${maxDepth} deep.`)
    const { count } = await store.countConversations({ parentConversationId: parent.id, tags: CHILD_TAGS })
    if (!(count < maxChildren)) throw new Error(`A conversation can have at most ${maxChildren} subagents.`)
    const created: NewConversation = {
      id,
      title,
      parentConversationId: parent.id,
      tags: CHILD_TAGS,
      owner: parentRecord?.owner ?? null,
      metadata: { subagent: { action_id: parent.actionId, depth } },
      status: 'idle',
    }
    // Another process may have created the child first.
    await store.createConversation(created).catch(nullOn('conversation_exists'))
    // If the parent was deleted in the meantime, its deletion did not include this child.
    if ((await store.getConversation(parent.id)) === null) {
      await store.deleteConversation(id)
      throw unknownConversation(parent.id)
    }
  }
  onOpen?.(id)
  const child = open(id)
  await child.sendMessage(text, { key: parent.actionId })
  const { status, error } = await child.run(step, { until: 'settled', ...run, wait: true, signal })
  const content = finalContent(await child.state())
  if (status === 'finished' && content.length > 0) return { conversationId: id, status, content }
  const why = error instanceof Error ? `: ${error.message.replace(/\.$/, '')}` : ''
  const end = status === 'finished' ? 'replied without a text' : `stopped (${status})${why}`
  const note = { type: 'text', text: `The subagent has ${end}. Its conversation is ${id}.` }
  return { conversationId: id, status, content: [...content, note] }
}

function depthOf(record: ConversationRecord | null): number {
  const { depth } = objectOf(record?.metadata['subagent'])
  return typeof depth === 'number' ? depth : 0
}

function finalContent({ branch: { view } }: State): readonly Content[] {
  for (let index = view.units.length - 1; index >= 0; index -= 1) {
    const unit = view.units.get(index)
    if (unit?.type === 'message' && isFinalReply(unit.item.event) && unit.item.event.kind === 'MessageEvent')
      return (unit.item.event.llm_message.content ?? []).filter(
        (part) => !isTextPart(part) || part.text !== '',
      )
    const finish =
      unit?.type === 'batch' ? [...unit.calls].find(({ event }) => event.tool_name === 'finish') : undefined
    const message = finish?.event.action?.['message']
    if (typeof message === 'string') return [{ type: 'text', text: message }]
  }
  return []
}
