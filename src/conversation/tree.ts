import { completionOf } from '../event/completion.ts'
import { hasCode, nullOn } from '../event/errors.ts'
import { isObject } from '../event/json.ts'
import { isToolResult } from '../event/kinds.ts'
import { isQuarantined } from '../event/quarantine.ts'
import { columnarLength, findEventIn } from '../log/log.ts'
import { pendingCallCount } from '../log/open-calls.ts'
import type { State, StateTree } from '../state/state.ts'
import type { ConversationRecord } from '../store/contract/conversation-record.ts'
import { checkOptionNames } from '../event/check-value.ts'
import { mapConcurrent, pause } from './async.ts'
import type { EngineContext } from './engine-context.ts'
import { recordIn, type Replica, wholeState } from './replica.ts'
import { subscribe, type SubscriptionItem } from './subscribe.ts'

const CONCURRENCY = 16

/** Milliseconds between two searches for new subagents, while a call is pending or working. */
const POLL = 250

function parentCall({ metadata }: ConversationRecord): string | null {
  const subagent = metadata['subagent']
  const id = isObject(subagent) ? subagent['action_id'] : null
  return typeof id === 'string' ? id : null
}

interface OpenNode extends StateTree {
  readonly children: OpenNode[]
}

export async function openTree(context: EngineContext, rootId: string): Promise<StateTree> {
  // Records may name each other as parents.
  const opened = new Set([rootId])
  const root = await openNode(context, await recordIn(context.store, rootId), null)
  let level: readonly OpenNode[] = [root]
  while (level.length > 0) {
    const next: OpenNode[] = []
    await mapConcurrent(level, CONCURRENCY, async (node) => {
      const records = await context.children(node.id)
      const children = await mapConcurrent(records, CONCURRENCY, async (record) => {
        if (opened.has(record.id)) return null
        opened.add(record.id)
        return openNode(context, record, parentCall(record)).catch(ifDeleted)
      })
      node.children.push(...children.filter((child) => child !== null))
      next.push(...node.children)
    })
    level = next
  }
  return root
}

async function openNode(
  context: EngineContext,
  record: ConversationRecord,
  actionId: string | null,
): Promise<OpenNode> {
  const { id, title } = record
  const latest = async (replica: Replica): Promise<State> => {
    const { state } = await replica.look(record)
    return columnarLength(state.log) > 0 || replica.blobs === 'refs' ? replica.whole() : state
  }
  // Bypasses the cache for a conversation that is not in memory: a large tree would evict the whole cache.
  const state = await (context.cachedState(id) !== null
    ? context.use(id, latest)
    : wholeState(context.store, id))
  return { id, title, actionId, state, children: [] }
}

/** Handles a rejected promise: returns null if the subagent was deleted, which may happen at any time. */
const ifDeleted = nullOn('unknown_conversation')

/** An item of a subscription, with its conversation. */
export interface TreeSubscriptionItem {
  readonly conversationId: string
  /** 0 for the root, 1 for its subagents. */
  readonly depth: number
  readonly item: SubscriptionItem
}

interface Followed {
  readonly id: string
  readonly depth: number
  readonly items: AsyncGenerator<SubscriptionItem, void, undefined>
  readonly actions: Set<string>
  isCaughtUp: boolean
}

export async function* subscribeTree(
  context: EngineContext,
  rootId: string,
  options: { readonly signal: AbortSignal },
): AsyncGenerator<TreeSubscriptionItem, void, undefined> {
  checkOptionNames(options, 'signal')
  const { signal } = options
  const ended = new AbortController()
  const signals = AbortSignal.any([signal, ended.signal])
  const followed = new Map<string, Followed>()
  const ready: { readonly from: Followed; readonly item: SubscriptionItem | null }[] = []
  let failure: { readonly error: unknown } | null = null
  let news = new AbortController()
  /** Requests the next item. At most one item per conversation waits, so no queue is needed. */
  const pull = (from: Followed): void => {
    const arrive = (item: SubscriptionItem | null): void => {
      ready.push({ from, item })
      news.abort()
    }
    const fail = (error: unknown): void => {
      if (from.depth > 0 && hasCode(error, 'unknown_conversation')) return arrive(null)
      failure ??= { error }
      news.abort()
    }
    from.items.next().then(({ done, value }) => arrive(done === true ? null : value), fail)
  }
  const add = (id: string, depth: number): void => {
    if (followed.has(id)) return
    const items = subscribe(context, id, { signal: signals })
    const added: Followed = { id, depth, items, actions: new Set(), isCaughtUp: false }
    followed.set(id, added)
    pull(added)
  }
  /** Subscribes to a parent's subagents. Skips a subagent whose call is in the parent's log but not yet delivered. */
  const findChildren = async ({ id, depth, actions }: Followed): Promise<void> => {
    const children = await context.children(id).catch(ifDeleted)
    for (const child of children ?? []) {
      const call = parentCall(child)
      if (call === null || actions.has(call) || !(await hasEvent(context, id, call).catch(ifDeleted)))
        add(child.id, depth + 1)
    }
  }
  const poll = async (): Promise<void> => {
    for (const each of followed.values())
      if (each.isCaughtUp && (await hasOpenCalls(context, each.id))) await findChildren(each)
  }
  add(rootId, 0)
  let due = performance.now() + POLL
  try {
    while (!signal.aborted) {
      if (failure !== null) throw (failure as { readonly error: unknown }).error
      const next = ready.shift()
      if (next === undefined || performance.now() >= due) {
        if (performance.now() >= due) {
          await poll()
          due = performance.now() + POLL
        }
        if (next === undefined && ready.length === 0 && failure === null) {
          news = new AbortController()
          await pause(due - performance.now(), news.signal)
        }
      }
      if (next === undefined) continue
      const { from, item } = next
      if (item === null) {
        if (from.depth === 0) return
        continue
      }
      yield { conversationId: from.id, depth: from.depth, item }
      if (item.type === 'event') {
        const { fact, id } = item
        const event = isQuarantined(fact) ? null : fact
        if (id !== null && event?.kind === 'ActionEvent') from.actions.add(id)
        // The call's subagent may have started and ended since the last search.
        const isEnd = event !== null && (isToolResult(event) || completionOf(event) !== null)
        if (from.isCaughtUp && isEnd) await findChildren(from)
      }
      if (item.type === 'caught_up') {
        from.isCaughtUp = true
        await findChildren(from)
      }
      pull(from)
    }
  } finally {
    ended.abort()
    await Promise.allSettled([...followed.values()].map(({ items }) => items.return()))
  }
}

const hasEvent = (context: EngineContext, id: string, eventId: string): Promise<boolean> =>
  context.use(id, async ({ state }) => findEventIn(state.log, eventId) !== undefined)

const hasOpenCalls = (context: EngineContext, id: string): Promise<boolean> =>
  context
    .use(
      id,
      async ({ state }) =>
        pendingCallCount(state.branch.pendingCalls) + pendingCallCount(state.branch.workingCalls) > 0,
    )
    .catch((error: unknown) => ifDeleted(error) ?? false)
