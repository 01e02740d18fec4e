import { type AGUIEvent, EventType, type Message } from '@ag-ui/core'
import type { Conversation } from '../conversation/conversation.ts'
import type { Engine } from '../conversation/engine.ts'
import { isObject, withoutNulls } from '../event/json.ts'
import { advance } from '../messages/ui/chunks.ts'
import type { UIPart } from '../messages/ui/types.ts'
import { replyParts } from '../messages/ui/write.ts'
import type { ConversationRecord } from '../store/contract/conversation-record.ts'
import { chunkTranslator } from './ag-ui-events.ts'
import { agUiMessages } from './ag-ui-messages.ts'

interface Followed {
  readonly translate: ReturnType<typeof chunkTranslator>
  parts: readonly UIPart[]
  isFinished: boolean
}

export class Subagents {
  readonly #engine: Pick<Engine, 'open'>
  readonly #conversation: Conversation
  readonly #followed = new Map<string, Followed>()
  /** Parts of each subagent's reply at the time of the first snapshot; null for a subagent that had ended. */
  #earlier: ReadonlyMap<string, readonly UIPart[] | null> | null = null

  constructor(engine: Pick<Engine, 'open'>, conversation: Conversation) {
    this.#engine = engine
    this.#conversation = conversation
  }

  /** Inserts each subagent's messages after the call that opened the subagent. */
  async withMessages(messages: readonly Message[]): Promise<Message[]> {
    const all = await this.#children()
    const perChild = async <T>(read: (child: Child) => Promise<T>): Promise<ReadonlyMap<string, T>> =>
      new Map(await Promise.all(all.map(async (child) => [child.record.id, await read(child)] as const)))
    this.#earlier ??= await perChild(async (child) => (isEnded(child.status) ? null : partsOf(child)))
    const messagesById = await perChild(({ conversation }) => conversation.read(agUiMessages))
    const withChildren = (parent: string | null, siblings: readonly Message[]): Message[] => {
      const children = all.filter((child) => child.parent === parent)
      const byCall = Map.groupBy(children, ({ record }) => parentCall(record))
      return siblings.flatMap((message) => {
        const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : []
        const called = calls.flatMap(({ id }) => byCall.get(id) ?? [])
        return [message, ...called.flatMap(({ record }) => messagesOf(record.id))]
      })
    }
    const messagesOf = (subagentRunId: string): Message[] =>
      withChildren(
        subagentRunId,
        (messagesById.get(subagentRunId) ?? []).map((message): Message => ({ ...message, subagentRunId })),
      )
    return withChildren(null, messages)
  }

  /** Returns the subagents' AG-UI events since the previous `advance`. */
  async advance(): Promise<AGUIEvent[]> {
    const events: AGUIEvent[] = []
    for (const child of await this.#children()) {
      const { record, parent, status } = child
      const subagentRunId = record.id
      const call = parentCall(record)
      const earlier = this.#earlier?.get(subagentRunId)
      if (earlier === null || child.to === null) continue
      let followed = this.#followed.get(subagentRunId)
      if (followed === undefined) {
        const parts = earlier ?? []
        followed = { translate: chunkTranslator(subagentRunId, parts), parts, isFinished: false }
        this.#followed.set(subagentRunId, followed)
        events.push({
          type: EventType.SUBAGENT_STARTED,
          subagentRunId,
          name: record.title ?? 'subagent',
          ...withoutNulls({ parentSubagentRunId: parent, parentToolCallId: call }),
        })
      }
      if (followed.isFinished) continue
      // oxlint-disable-next-line no-await-in-loop -- parents before their subagents
      const advanced = advance(followed.parts, await partsOf(child))
      // A withdrawn step needs no event: the final snapshot corrects it.
      const chunks = (advanced?.chunks ?? []).filter(({ type }) => type !== 'reset-step')
      if (advanced !== null) followed.parts = advanced.parts
      const translated = chunks.flatMap((chunk) => followed.translate(chunk))
      followed.isFinished = isEnded(status)
      if (followed.isFinished) translated.push(...followed.translate(null))
      events.push(...translated.map((event): AGUIEvent => ({ ...event, subagentRunId }) as AGUIEvent))
      if (!followed.isFinished) continue
      if (status === 'error' || status === 'stuck') {
        const message = 'The subagent has failed.'
        events.push({ type: EventType.SUBAGENT_ERROR, subagentRunId, message, code: status })
      } else {
        const type = status === 'finished' ? 'success' : 'suspended'
        events.push({ type: EventType.SUBAGENT_FINISHED, subagentRunId, outcome: { type } })
      }
    }
    return events
  }

  /** Returns all subagents, each after its parent. */
  async #children(): Promise<Child[]> {
    const children: Child[] = []
    const add = async (conversation: Conversation, parent: string | null): Promise<void> => {
      for (const record of await conversation.children()) {
        const child = await this.#engine.open(record)
        const { header, branch } = await child.state()
        const to = branch.lastUserMessage?.id ?? null
        children.push({ record, conversation: child, parent, status: header.status, to })
        await add(child, record.id)
      }
    }
    await add(this.#conversation, null)
    return children
  }
}

interface Child {
  readonly record: ConversationRecord
  readonly conversation: Conversation
  readonly parent: string | null
  readonly status: string
  /** Id of the latest user message. */
  readonly to: string | null
}

const partsOf = async ({ conversation, to }: Child): Promise<readonly UIPart[]> =>
  to === null ? [] : conversation.read((state) => replyParts(state, to))

const isEnded = (status: string): boolean => status !== 'idle' && status !== 'running'

function parentCall({ metadata: { subagent } }: ConversationRecord): string | null {
  const call = isObject(subagent) ? subagent['action_id'] : null
  return typeof call === 'string' ? call : null
}
