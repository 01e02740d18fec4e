/** Reads trajectories in the Agent Trajectory Interchange Format (ATIF), versions 1.0 to 1.8; writes 1.7. */

import { checkOptionNames } from '../event/check-value.ts'
import { isTextPart, type Content, type JsonObject, type JsonValue } from '../event/shapes.ts'
import { isObject } from '../event/json.ts'
import { type RawObject, objectOf, objectsOf, stringOf } from '../messages/text.ts'
import { moreOf } from '../messages/reply.ts'
import { fromOpenAIChat } from '../messages/openai-chat/read.ts'
import { type CallItem, type MessageItem, type TimelineItem, toTimeline } from '../messages/timeline.ts'
import { replay } from '../state/reduce.ts'
import type { State, StateTree } from '../state/state.ts'
import { contentOf, instantIn, isSameReply, isTextBlock, textIn } from './content.ts'
import type { Session, SessionRecord, SubagentLink } from './session.ts'
import { callOrigins, type Origin, SessionWriter } from './writer.ts'

/** Reads the first trajectory as a session. The session's children are the subagents and the other trajectories. */
export function readAtif(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const trajectories = records.filter(isTrajectory)
  const taken = new Set<string>()
  const [first, ...further] = trajectories.map(({ line, value }, index) => {
    const one = objectOf(value)
    const id = unusedId([one['session_id'], one['trajectory_id']], taken)
    const origin = { line, id, parentId: null, taken }
    return readTrajectory(one, origin, index === 0 ? writer : new SessionWriter())
  })
  for (const record of records) if (!isTrajectory(record)) writer.keep(record, 'not a trajectory')
  for (const { line } of trajectories.slice(1))
    writer.note('further trajectories, each its own session', line)
  const { children, ...session } = first ?? readTrajectory({}, NOWHERE, writer)
  return { ...session, notes: writer.notes(), children: [...children, ...further] }
}

const isTrajectory = ({ value }: SessionRecord): boolean => {
  const fields = objectOf(value)
  return Array.isArray(fields['steps']) || stringOf(fields['schema_version']).startsWith('ATIF')
}

interface TrajectoryPlace {
  readonly line: number
  readonly id: string | null
  readonly parentId: string | null
  readonly subagent?: SubagentLink
  readonly taken: Set<string>
}

const NOWHERE: TrajectoryPlace = { line: 1, id: null, parentId: null, taken: new Set() }

/** Returns the first id that is not taken, and takes it. Trajectories of one run can share a session id. */
function unusedId(names: readonly unknown[], taken: Set<string>): string | null {
  const unused = names.map(stringOf).find((name) => name !== '' && !taken.has(name))
  if (unused === undefined) return null
  taken.add(unused)
  return unused
}

function readTrajectory(
  fields: RawObject,
  { line, id, parentId, subagent, taken }: TrajectoryPlace,
  writer: SessionWriter = new SessionWriter(),
): Session {
  const agent = objectOf(fields['agent'])
  const other = otherFields(fields)
  if (other !== null) writer.update('atif.trajectory', other, { line, id: 'trajectory', time: null })
  const subagents = fields['subagent_trajectories']
  const listed = (Array.isArray(subagents) ? subagents : []) as readonly JsonValue[]
  // A reference contains the session id or the trajectory id of a child; `childId` is the first unused id.
  const ids = new Map<unknown, string>()
  const named = listed.map((value) => {
    const child = objectOf(value)
    const childId = child === value ? unusedId([child['session_id'], child['trajectory_id']], taken) : null
    for (const each of [child['session_id'], child['trajectory_id']])
      if (childId !== null && stringOf(each) !== '' && each !== fields['session_id']) ids.set(each, childId)
    return { value, child, childId }
  })
  const actions = new Map<string, string>()
  const steps = objectsOf(fields['steps'])
  for (const [index, step] of steps.entries()) {
    const value = (fields['steps'] as readonly JsonValue[])[index]
    if (value === step) readStep(step, index, { writer, agent, ids, actions })
    else writer.keepValue(value, index + 1, 'not a step')
  }
  const depth = (subagent?.depth ?? 0) + 1
  const children: Session[] = []
  for (const { value, child, childId } of named) {
    if (child === value) {
      const link = { actionId: actions.get(childId ?? '') ?? null, depth }
      children.push(readTrajectory(child, { line, id: childId, parentId: id, subagent: link, taken }))
    } else writer.keepValue(value, line, 'not a trajectory')
  }
  return {
    ...writer.session('atif'),
    id,
    parentId,
    createdAt: instantIn(steps.find(({ timestamp }) => instantIn(timestamp) !== null)?.['timestamp']),
    subagent: subagent ?? null,
    children,
  }
}

function otherFields(fields: RawObject): JsonObject | null {
  const isRead = (key: string): boolean =>
    (key === 'steps' || key === 'subagent_trajectories') && Array.isArray(fields[key])
  const rest = Object.entries(fields).filter(([key]) => !isRead(key))
  return rest.length === 0 ? null : (Object.fromEntries(rest) as JsonObject)
}

interface Trajectory {
  readonly writer: SessionWriter
  readonly agent: RawObject
  /** Names of the child conversations, by the trajectory or session id with which a result refers to them. */
  readonly ids: ReadonlyMap<unknown, string>
  /** Ids of the actions that started child conversations, by the children's names. */
  readonly actions: Map<string, string>
}

interface Step {
  readonly fields: RawObject
  readonly calls: readonly RawObject[]
  readonly results: readonly RawObject[]
  readonly origin: Origin
}

function readStep(fields: RawObject, index: number, trajectory: Trajectory): void {
  const { writer, agent } = trajectory
  const line = index + 1
  const number = typeof fields['step_id'] === 'number' ? fields['step_id'] : line
  const origin = { line, id: `step-${number}`, time: fields['timestamp'] }
  const { source, message } = fields
  const calls = objectsOf(fields['tool_calls'])
  const results = objectsOf(objectOf(fields['observation'])['results'])
  const step: Step = { fields, calls, results, origin }
  if (fields['is_copied_context'] === true) writer.note('steps copied from an earlier trajectory', line)
  let isReply = false
  if (source === 'agent') isReply = readReply(step, trajectory)
  else if (source === 'system' && writer.head === null && textIn(message) !== '')
    writer.prompt(textIn(message), origin, toolsOf(agent))
  else if (source === 'user' || source === 'system')
    writer.say(source === 'user' ? 'user' : 'environment', contentOf(message), origin)
  else writer.keepValue(fields, line, `unknown step source ${JSON.stringify(source)}`)
  addResults(step, trajectory)
  const other = otherStepFields(step, isReply)
  if (other !== null) writer.update('atif.step', other, { ...origin, id: `${origin.id}-beside` })
}

function otherStepFields({ fields: step, calls, results }: Step, isReply: boolean): JsonObject | null {
  const isCounted = isReply && step['is_copied_context'] !== true
  const metrics = isCounted ? moreOf(objectOf(step['metrics']), ...METRICS) : null
  const moreCalls = calls.flatMap((call) =>
    otherFieldsWithId(call, 'tool_call_id', 'function_name', 'arguments'),
  )
  const moreResults = results.flatMap((result) => otherFieldsWithId(result, 'source_call_id', 'content'))
  const observation = moreOf(objectOf(step['observation']), 'results')
  const other = {
    ...(metrics !== null && { metrics }),
    ...(observation !== null && { observation }),
    ...(moreCalls.length > 0 && { tool_calls: moreCalls }),
    ...(moreResults.length > 0 && { results: moreResults }),
    // Last, so that a field that was not fully read is kept whole, and replaces its unread part from above.
    ...moreOf(
      step,
      ...READ,
      ...(isReply ? READ_OF_REPLY : []),
      ...(isCounted ? ['metrics'] : []),
      ...readShapes(step),
    ),
  }
  return Object.keys(other).length === 0 ? null : other
}

function readShapes({ source, message, tool_calls: calls, observation }: RawObject): string[] {
  const isTextOnly =
    typeof message === 'string' || (isListOf(message) && objectsOf(message).every(isTextBlock))
  return [
    ...(isTextOnly || (source === 'user' && isListOf(message)) ? ['message'] : []),
    ...(isListOf(calls) && source === 'agent' ? ['tool_calls'] : []),
    ...(isObject(observation) && isListOf(observation['results'] ?? []) ? ['observation'] : []),
  ]
}

const isListOf = (value: unknown): boolean => Array.isArray(value) && value.every(isObject)

function otherFieldsWithId(fields: RawObject, id: string, ...known: readonly string[]): JsonObject[] {
  const more = moreOf(fields, id, ...known)
  return more === null ? [] : [{ [id]: stringOf(fields[id]), ...more }]
}

const READ = ['step_id', 'source', 'timestamp', 'is_copied_context']
const READ_OF_REPLY = ['model_name', 'reasoning_content']
const METRICS = ['prompt_tokens', 'completion_tokens', 'cached_tokens']

function toolsOf(agent: RawObject): { description: string; action_type: string; title: string }[] {
  return objectsOf(agent['tool_definitions']).map((tool) => {
    const { name, description } = objectOf(tool['function'] ?? tool)
    return { title: stringOf(name), description: stringOf(description), action_type: stringOf(name) }
  })
}

function readReply({ fields: step, calls, results, origin }: Step, { agent, writer }: Trajectory): boolean {
  // The earlier trajectory counts the tokens of a copied step.
  const metrics = step['is_copied_context'] === true ? {} : objectOf(step['metrics'])
  const { prompt_tokens, completion_tokens, cached_tokens } = metrics
  const tool_calls = calls.map(({ tool_call_id: id, function_name: name, arguments: input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input ?? {}) },
  }))
  const content = textIn(step['message'])
  const reasoning = stringOf(step['reasoning_content'])
  if (content === '' && reasoning === '' && calls.length === 0) {
    writer.note('replies without content', origin.line)
    return false
  }
  const message = {
    role: 'assistant',
    content,
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls }),
  }
  const reply = fromOpenAIChat({
    id: `reply-${origin.id}`,
    model: stringOf(step['model_name']) || stringOf(agent['model_name']),
    choices: [{ message, finish_reason: calls.length === 0 ? 'stop' : 'tool_calls' }],
    ...((prompt_tokens !== undefined || completion_tokens !== undefined) && {
      usage: { prompt_tokens, completion_tokens, prompt_tokens_details: { cached_tokens } },
    }),
  } as Parameters<typeof fromOpenAIChat>[0])
  // A result that names no call may be the result of any call.
  const named = results.map((result) => stringOf(result['source_call_id']))
  const hasResult = (callId: string): boolean => named.includes(callId) || named.includes('')
  writer.reply(reply, callOrigins(origin, calls.length, '.'), hasResult)
  return true
}

/**
 * Adds a step's results. A result that names no call belongs to the call at the same index if the step has as
 * many results as calls, else to the last call. In a step without calls, such a result becomes an
 * environment message.
 */
function addResults({ calls, results, origin }: Step, { writer, ids: names, actions }: Trajectory): void {
  const ids = calls.map((call) => stringOf(call['tool_call_id']))
  const open = new Set(ids)
  for (const [index, result] of results.entries()) {
    const position = { ...origin, id: `${origin.id}-result${results.length > 1 ? `-${index + 1}` : ''}` }
    const named = stringOf(result['source_call_id'])
    const guessed = results.length === ids.length ? ids[index] : ids.at(-1)
    const callId = named === '' ? guessed : named
    const content = contentOf(result['content'])
    if (callId !== undefined) {
      open.delete(callId)
      const children = childrenIn(result, names)
      const action = writer.actionOf(callId)
      if (action !== null) for (const child of children) actions.set(child, action)
      const { status, is_error: isError } = objectOf(result['extra'])
      const hasFailed = isError === true || status === 'failed' || status === 'rejected'
      writer.result({ callId, content, isError: hasFailed, child: children[0] }, position)
    } else if (content.length > 0) writer.say('environment', content, position)
    else writer.note('results without content', origin.line)
  }
  if (results.every((result) => stringOf(result['source_call_id']) !== '')) return
  // If several calls have one result, all of them were executed.
  for (const callId of open)
    writer.result(
      { callId, content: [], isError: false },
      { ...origin, id: `${origin.id}-none-${callId}`.slice(0, 200) },
    )
}

function childrenIn(result: RawObject, ids: Trajectory['ids']): string[] {
  const reference = result['subagent_trajectory_ref']
  const all = Array.isArray(reference) ? objectsOf(reference) : [objectOf(reference)]
  return all.flatMap(({ trajectory_id, session_id }) => {
    const id =
      ids.get(trajectory_id) ?? ids.get(session_id) ?? (stringOf(session_id) || stringOf(trajectory_id))
    return id === '' ? [] : [id]
  })
}

/**
 * Returns a session with its subagents as a tree, for `toAtif`, `toSpans` and `toTreeTimeline`. O(n log n)
 * for n events.
 * @example
 * const session = { id: 's', title: null, facts: [], subagent: null, children: [] }
 * sessionTree(session).id // 's'
 */
export function sessionTree({ id, title, facts, subagent, children }: Session): StateTree {
  const name = id ?? 'conversation'
  const subagents = children.filter((child) => child.subagent !== null)
  return {
    id: name,
    title,
    actionId: subagent?.actionId ?? null,
    state: replay(facts.map(({ fact }) => fact)),
    children: subagents.map((child, index) =>
      sessionTree({ ...child, id: child.id ?? `${name}-child-${index + 1}` }),
    ),
  }
}

/** Fields of a trajectory that a log does not contain. */
export interface AtifOptions {
  /** Id of the trajectory. Default: the tree's id; `conversation` for a state. */
  readonly sessionId?: string
  /** Name of the agent. Default: `agent`. */
  readonly agent?: string
  /** Version of the agent. Default: `unknown`. */
  readonly version?: string
}

/** A trajectory in the Agent Trajectory Interchange Format. */
export interface AtifTrajectory {
  readonly schema_version: string
  readonly session_id: string
  readonly trajectory_id: string
  readonly agent: JsonObject
  readonly steps: readonly JsonObject[]
  /** Sums over the steps of this trajectory, without its subagents. */
  readonly final_metrics: JsonObject
  readonly subagent_trajectories?: readonly AtifTrajectory[]
}

/**
 * Writes HEAD's branch as a trajectory (ATIF 1.7). Each message becomes a step; each reply becomes a step
 * together with its calls and their results. Errors, stops and condensations are system steps with an `extra`
 * field. Images and other parts that are not text become placeholders, such as `[image]`. The subagents of a
 * tree (see `Conversation.tree`) are nested trajectories. For another branch, pass `switchTo(state, leafId)`.
 * O(path).
 * @throws ColloquyError `evicted`, see `toTimeline`.
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'hi' }] }
 * const { steps } = toAtif(replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }]))
 * steps[0].message // 'hi'
 */
export function toAtif(source: State | StateTree, options: AtifOptions = {}): AtifTrajectory {
  checkOptionNames(options, 'sessionId agent version')
  const tree = 'children' in source ? source : { id: 'conversation', state: source, children: [] }
  return trajectoryOf({ ...tree, id: options.sessionId ?? tree.id }, options)
}

function trajectoryOf(
  { id, state, children }: Pick<StateTree, 'id' | 'state' | 'children'>,
  options: AtifOptions,
): AtifTrajectory {
  const { agent = 'agent', version = 'unknown' } = options
  const items = toTimeline(state)
  const byCall = Map.groupBy(children, ({ actionId }) => actionId)
  const steps = atifSteps(items, byCall).map((step, index) => ({ step_id: index + 1, ...step }))
  const tokens = items.flatMap((item) => {
    const reply = item.type === 'message' || item.type === 'call' ? item.reply : null
    const count = reply?.tokens ?? null
    return count === null ? [] : [count]
  })
  const sum = (field: 'input' | 'output' | 'cache_read'): number =>
    tokens.reduce((total, count) => total + count[field], 0)
  return {
    schema_version: 'ATIF-v1.7',
    session_id: id,
    trajectory_id: id,
    agent: { name: agent, version },
    steps,
    final_metrics: {
      total_prompt_tokens: sum('input'),
      total_completion_tokens: sum('output'),
      total_cached_tokens: sum('cache_read'),
      total_steps: steps.length,
    },
    ...(children.length > 0 && {
      subagent_trajectories: children.map((child) => trajectoryOf(child, options)),
    }),
  }
}

type ByCall = ReadonlyMap<string | null, readonly StateTree[]>

function atifSteps(items: readonly TimelineItem[], byCall: ByCall): JsonObject[] {
  const steps: JsonObject[] = []
  let calls: CallItem[] = []
  const close = (): void => {
    const [first] = calls
    if (first !== undefined) steps.push(replyStep(first, calls, byCall))
    calls = []
  }
  for (const item of items) {
    if (item.type !== 'call' || !isSameReply(item.reply, calls[0]?.reply ?? null)) close()
    if (item.type === 'call') calls.push(item)
    else steps.push(stepOfItem(item))
  }
  close()
  return steps
}

const timestampField = ({ timestamp }: TimelineItem): JsonObject => (timestamp === null ? {} : { timestamp })

function stepOfItem(item: Exclude<TimelineItem, CallItem>): JsonObject {
  const time = timestampField(item)
  switch (item.type) {
    case 'system':
      return { ...time, source: 'system', message: textOfStep(item.content) }
    case 'message':
      return item.source === 'agent'
        ? replyStep(item, [], new Map())
        : { ...time, source: sourceOfMessage(item), message: textOfStep(item.content) }
    case 'condensation':
      return { ...time, source: 'system', message: item.summary, extra: { condensation: item.forgot } }
    case 'error':
      return { ...time, source: 'system', message: item.detail, extra: { error: item.code } }
    default:
      return { ...time, source: 'system', message: '', extra: { stop: item.type } }
  }
}

const sourceOfMessage = ({ source }: MessageItem): string => (source === 'user' ? 'user' : 'system')

function replyStep(first: MessageItem | CallItem, calls: readonly CallItem[], byCall: ByCall): JsonObject {
  const { reply, reasoning } = first
  const results = calls.flatMap(({ id, result, status }) =>
    result === null
      ? []
      : [
          {
            source_call_id: id,
            content: textOfStep(result.content),
            ...referencesTo(byCall.get(id) ?? []),
            ...(status === 'completed' ? {} : { extra: { status } }),
          },
        ],
  )
  const tokens = reply?.tokens ?? null
  const model = reply?.model ?? null
  return {
    ...timestampField(first),
    source: 'agent',
    ...(model === null ? {} : { model_name: model }),
    message: [first, ...calls.slice(1)].map(({ content }) => textOfStep(content)).join(''),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length > 0 && {
      // Call ids may repeat in a log; event ids do not.
      tool_calls: calls.map(({ id, tool, arguments: input }) => ({
        tool_call_id: id,
        function_name: tool,
        arguments: input,
      })),
    }),
    ...(results.length === 0 ? {} : { observation: { results } }),
    ...(tokens !== null && {
      metrics: {
        prompt_tokens: tokens.input,
        completion_tokens: tokens.output,
        cached_tokens: tokens.cache_read,
      },
    }),
  }
}

const referencesTo = (children: readonly StateTree[]): JsonObject =>
  children.length === 0
    ? {}
    : { subagent_trajectory_ref: children.map(({ id }) => ({ trajectory_id: id, session_id: id })) }

const textOfStep = (content: readonly Content[]): string =>
  content.map((part) => textIn([part]) || (isTextPart(part) ? '' : `[${part.type ?? 'image'}]`)).join('')
