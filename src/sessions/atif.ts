/** Reads trajectories in the Agent Trajectory Interchange Format (ATIF), versions 1.0 to 1.8. */

import { isTextPart, type Content, type JsonObject, type JsonValue } from '../event/shapes.ts'
import { isObject } from '../event/json.ts'
import { type Found, objectOf, objectsOf, stringOf } from '../messages/text.ts'
import { moreOf } from '../messages/reply.ts'
import { fromOpenAIChat } from '../messages/openai-chat/read.ts'
import { type CallItem, type MessageItem, type TimelineItem, toTimeline } from '../messages/timeline.ts'
import type { State } from '../state/state.ts'
import { contentOf, textIn } from './content.ts'
import type { Session, SessionRecord } from './session.ts'
import { type Origin, SessionWriter } from './writer.ts'

/**
 * A trajectory as a session, and those of the agents that it has started. Further trajectories of the file, one a line,
 * are sessions beside the first. O(size).
 */
export function readAtif(records: readonly SessionRecord[]): Session {
  const writer = new SessionWriter()
  const found = records.filter(isTrajectory)
  const taken = new Set<string>()
  const [first, ...further] = found.map(({ line, value }, at) => {
    const one = objectOf(value)
    const id = ownId([one['session_id'], one['trajectory_id']], taken)
    return readTrajectory(one, { line, id, parentId: null, taken }, at === 0 ? writer : new SessionWriter())
  })
  for (const record of records) if (!isTrajectory(record)) writer.keep(record, 'no trajectory')
  for (const { line } of found.slice(1))
    writer.note('further trajectories, each a session beside this one', line)
  const { children, ...session } = first ?? readTrajectory({}, NOWHERE, writer)
  return { ...session, notes: writer.notes(), children: [...children, ...further] }
}

const isTrajectory = ({ value }: SessionRecord): boolean => {
  const found = objectOf(value)
  return Array.isArray(found['steps']) || stringOf(found['schema_version']).startsWith('ATIF')
}

/** Where a trajectory stands, and what it is called; `taken` has what others of its file are. */
interface Standing {
  readonly line: number
  readonly id: string | null
  readonly parentId: string | null
  readonly taken: Set<string>
}

const NOWHERE: Standing = { line: 1, id: null, parentId: null, taken: new Set() }

/** The first name that no other trajectory of the file has: those of one run may share that of their session. */
function ownId(names: readonly unknown[], taken: Set<string>): string | null {
  const own = names.map(stringOf).find((name) => name !== '' && !taken.has(name))
  if (own === undefined) return null
  taken.add(own)
  return own
}

function readTrajectory(
  found: Found,
  { line, id, parentId, taken }: Standing,
  writer: SessionWriter = new SessionWriter(),
): Session {
  const agent = objectOf(found['agent'])
  const about = aboutOf(found)
  if (about !== null) writer.update('atif.trajectory', about, { line, id: 'trajectory', time: null })
  const steps = objectsOf(found['steps'])
  for (const [at, step] of steps.entries()) {
    const given = (found['steps'] as readonly JsonValue[])[at]
    if (given === step) readStep(step, at, agent, writer)
    else writer.keep(strayOf(given, at + 1), 'no step')
  }
  const children: Session[] = []
  const subagents = found['subagent_trajectories']
  for (const child of (Array.isArray(subagents) ? subagents : []) as readonly JsonValue[]) {
    const one = objectOf(child)
    if (one !== child) {
      writer.keep(strayOf(child, line), 'no trajectory')
      continue
    }
    const own = ownId([one['session_id'], one['trajectory_id']], taken)
    children.push(readTrajectory(one, { line, id: own, parentId: id, taken }))
  }
  return {
    format: 'atif',
    id,
    title: null,
    parentId,
    createdAt: stringOf(steps.find(({ timestamp }) => typeof timestamp === 'string')?.['timestamp']) || null,
    facts: writer.facts,
    notes: writer.notes(),
    children,
  }
}

const strayOf = (value: JsonValue | undefined, line: number): SessionRecord => ({
  line,
  raw: JSON.stringify(value),
  value,
})

/** What a trajectory says of itself, and lists that are none. Null for nothing. */
function aboutOf(found: Found): JsonObject | null {
  const isRead = (key: string): boolean =>
    (key === 'steps' || key === 'subagent_trajectories') && Array.isArray(found[key])
  const rest = Object.entries(found).filter(([key]) => !isRead(key))
  return rest.length === 0 ? null : (Object.fromEntries(rest) as JsonObject)
}

function readStep(step: Found, at: number, agent: Found, writer: SessionWriter): void {
  const line = at + 1
  const number = typeof step['step_id'] === 'number' ? step['step_id'] : at + 1
  const origin = { line, id: `step-${number}`, time: step['timestamp'] }
  const { source, message } = step
  const calls = objectsOf(step['tool_calls'])
  const results = objectsOf(objectOf(step['observation'])['results'])
  if (step['is_copied_context'] === true) writer.note('steps copied from an earlier trajectory', line)
  let isReply = false
  if (source === 'agent') isReply = readReply(step, calls, results, origin, agent, writer)
  else if (source === 'system' && writer.head === null && textIn(message) !== '')
    writer.add(
      {
        kind: 'SystemPromptEvent',
        source: 'agent',
        system_prompt: { type: 'text', text: textIn(message) },
        tools: toolsOf(agent),
      },
      origin,
    )
  else if (source === 'user' || source === 'system')
    writer.say(source === 'user' ? 'user' : 'environment', contentOf(message), origin)
  else
    writer.keep(
      { line, raw: JSON.stringify(step), value: step as JsonValue },
      `a step of the unknown source ${JSON.stringify(source)}`,
    )
  addResults(calls, results, origin, writer)
  const beside = besideStep(step, calls, results, isReply)
  if (beside !== null) writer.update('atif.step', beside, { ...origin, id: `${origin.id}-beside` })
}

/** What a step says that no event of a conversation has a place for, such as costs. Null for nothing. */
function besideStep(
  step: Found,
  calls: readonly Found[],
  results: readonly Found[],
  isReply: boolean,
): JsonObject | null {
  const metrics = isReply ? moreOf(objectOf(step['metrics']), ...METRICS) : null
  const moreCalls = calls.flatMap((call) => besideId(call, 'tool_call_id', 'function_name', 'arguments'))
  const moreResults = results.flatMap((result) => besideId(result, 'source_call_id', 'content'))
  const observation = moreOf(objectOf(step['observation']), 'results')
  const beside = {
    ...(metrics !== null && { metrics }),
    ...(observation !== null && { observation }),
    ...(moreCalls.length > 0 && { tool_calls: moreCalls }),
    ...(moreResults.length > 0 && { results: moreResults }),
    // Behind them: a field that was not read whole stands there as it came.
    ...moreOf(step, ...READ, ...(isReply ? READ_OF_REPLY : []), ...readShapes(step)),
  }
  return Object.keys(beside).length === 0 ? null : beside
}

/** The fields that have been read whole, since they have the shape in which an event takes them. */
function readShapes({ source, message, tool_calls: calls, observation }: Found): string[] {
  const isWords = typeof message === 'string' || (isListOf(message) && objectsOf(message).every(isText))
  return [
    ...(isWords || (source === 'user' && isListOf(message)) ? ['message'] : []),
    ...(isListOf(calls) && source === 'agent' ? ['tool_calls'] : []),
    ...(isObject(observation) && isListOf(observation['results'] ?? []) ? ['observation'] : []),
  ]
}

const isListOf = (value: unknown): boolean => Array.isArray(value) && value.every(isObject)

const isText = ({ type, text }: Found): boolean => type === 'text' && typeof text === 'string'

/** What it says beside the fields that are named, under its id. */
function besideId(found: Found, id: string, ...known: readonly string[]): JsonObject[] {
  const more = moreOf(found, id, ...known)
  return more === null ? [] : [{ [id]: stringOf(found[id]), ...more }]
}

const READ = ['step_id', 'source', 'timestamp', 'is_copied_context']
const READ_OF_REPLY = ['model_name', 'reasoning_content', 'metrics']
const METRICS = ['prompt_tokens', 'completion_tokens', 'cached_tokens']

function toolsOf(agent: Found): { description: string; action_type: string; title: string }[] {
  return objectsOf(agent['tool_definitions']).map((tool) => {
    const { name, description } = objectOf(tool['function'] ?? tool)
    return { title: stringOf(name), description: stringOf(description), action_type: stringOf(name) }
  })
}

/** A reply with its calls. Returns false where it says nothing. */
function readReply(
  step: Found,
  calls: readonly Found[],
  results: readonly Found[],
  origin: Origin,
  agent: Found,
  writer: SessionWriter,
): boolean {
  const { prompt_tokens, completion_tokens, cached_tokens } = objectOf(step['metrics'])
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
    ...(prompt_tokens === undefined && completion_tokens === undefined
      ? {}
      : { usage: { prompt_tokens, completion_tokens, prompt_tokens_details: { cached_tokens } } }),
  } as Parameters<typeof fromOpenAIChat>[0])
  const origins =
    calls.length < 2 ? [origin] : calls.map((_, at) => ({ ...origin, id: `${origin.id}.${at + 1}` }))
  writer.reply(reply, origins, () => results.length > 0)
  return true
}

/**
 * The results of a step. One that names no call is that of the last one, or where there are as many as calls, of the
 * one at its place; without a call it is what the environment says.
 */
function addResults(
  calls: readonly Found[],
  results: readonly Found[],
  origin: Origin,
  writer: SessionWriter,
): void {
  const ids = calls.map((call) => stringOf(call['tool_call_id']))
  const open = new Set(ids)
  for (const [at, result] of results.entries()) {
    const place = { ...origin, id: `${origin.id}-result${results.length > 1 ? `-${at + 1}` : ''}` }
    const named = stringOf(result['source_call_id'])
    const guessed = results.length === ids.length ? ids[at] : ids.at(-1)
    const callId = named === '' ? guessed : named
    const content = contentOf(result['content'])
    if (callId !== undefined) {
      open.delete(callId)
      writer.result({ callId, content, isError: false }, place)
    } else if (content.length > 0) writer.say('environment', content, place)
    else writer.note('results without content', origin.line)
  }
  if (results.every((result) => stringOf(result['source_call_id']) !== '')) return
  // Several calls with one result: the others have run too.
  for (const callId of open)
    writer.result(
      { callId, content: [], isError: false },
      { ...origin, id: `${origin.id}-none-${callId}`.slice(0, 200) },
    )
}

/** Who has acted; a log does not say it. */
export interface AtifOptions {
  /** What the trajectory is called. Default: `conversation`. */
  readonly sessionId?: string
  /** Default: `agent`. */
  readonly agent?: string
  /** Default: `unknown`. */
  readonly version?: string
}

/** A trajectory, as its readers in other languages have it. */
export interface AtifTrajectory {
  readonly schema_version: string
  readonly session_id: string
  readonly agent: JsonObject
  readonly steps: readonly JsonObject[]
  readonly final_metrics: JsonObject
}

/**
 * HEAD's branch as a trajectory: a step for each message, and one for each reply with its calls and their results. What
 * the format has no step for (errors, stops, condensations) is a step of the system whose `extra` says what it is;
 * images and other parts are told by their types. For another branch give `switchTo(state, leafId)`. Pure; O(path).
 *
 * @throws ColloquyError `evicted` as `toTimeline` does.
 * @example
 * const llm_message = { role: 'user', content: [{ text: 'hi' }] }
 * const { steps } = toAtif(replay([{ kind: 'MessageEvent', id: 'm', source: 'user', llm_message }]))
 * steps[0].message // 'hi'
 */
export function toAtif(state: State, options: AtifOptions = {}): AtifTrajectory {
  const { sessionId = 'conversation', agent = 'agent', version = 'unknown' } = options
  const items = toTimeline(state)
  const steps = stepsOf(items).map((step, at) => ({ step_id: at + 1, ...step }))
  const tokens = items.flatMap((item) => {
    const reply = item.type === 'message' || item.type === 'call' ? item.reply : null
    const count = reply?.tokens ?? null
    return count === null ? [] : [count]
  })
  const sum = (field: 'input' | 'output' | 'cache_read'): number =>
    tokens.reduce((total, count) => total + count[field], 0)
  return {
    schema_version: 'ATIF-v1.5',
    session_id: sessionId,
    agent: { name: agent, version },
    steps,
    final_metrics: {
      total_prompt_tokens: sum('input'),
      total_completion_tokens: sum('output'),
      total_cached_tokens: sum('cache_read'),
      total_steps: steps.length,
    },
  }
}

function stepsOf(items: readonly TimelineItem[]): JsonObject[] {
  const steps: JsonObject[] = []
  let at = 0
  while (at < items.length) {
    const item = items[at]
    if (item === undefined) break
    if (item.type !== 'call') {
      steps.push(stepOf(item))
      at += 1
      continue
    }
    const calls: CallItem[] = []
    for (let next = items[at]; next?.type === 'call' && isOfReply(next, item); next = items[at]) {
      calls.push(next)
      at += 1
    }
    steps.push(replyStep(item, calls))
  }
  return steps
}

/** Whether two calls came in one reply; calls that do not say so have each their own. */
const isOfReply = (one: CallItem, first: CallItem): boolean =>
  one === first || (one.reply.id !== null && one.reply.id === first.reply.id)

const timeOf = ({ timestamp }: TimelineItem): JsonObject => (timestamp === null ? {} : { timestamp })

function stepOf(item: Exclude<TimelineItem, CallItem>): JsonObject {
  const time = timeOf(item)
  switch (item.type) {
    case 'system':
      return { ...time, source: 'system', message: textOfStep(item.content) }
    case 'message':
      return item.source === 'agent'
        ? replyStep(item, [])
        : { ...time, source: sourceOf(item), message: textOfStep(item.content) }
    case 'condensation':
      return { ...time, source: 'system', message: item.summary, extra: { condensation: item.forgot } }
    case 'error':
      return { ...time, source: 'system', message: item.detail, extra: { error: item.code } }
    default:
      return { ...time, source: 'system', message: '', extra: { stop: item.type } }
  }
}

const sourceOf = ({ source }: MessageItem): string => (source === 'user' ? 'user' : 'system')

function replyStep(first: MessageItem | CallItem, calls: readonly CallItem[]): JsonObject {
  const { reply, reasoning } = first
  const results = calls.flatMap(({ id, result, status }) =>
    result === null
      ? []
      : [
          {
            source_call_id: id,
            content: textOfStep(result.content),
            ...(status === 'completed' ? {} : { extra: { status } }),
          },
        ],
  )
  const tokens = reply?.tokens ?? null
  const model = reply?.model ?? null
  return {
    ...timeOf(first),
    source: 'agent',
    ...(model === null ? {} : { model_name: model }),
    message: [first, ...calls.slice(1)].map(({ content }) => textOfStep(content)).join(''),
    ...(reasoning === '' ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0
      ? {}
      : {
          // Ids of calls may repeat in a log; those of their events do not.
          tool_calls: calls.map(({ id, tool, arguments: given }) => ({
            tool_call_id: id,
            function_name: tool,
            arguments: given,
          })),
        }),
    ...(results.length === 0 ? {} : { observation: { results } }),
    ...(tokens === null
      ? {}
      : {
          metrics: {
            prompt_tokens: tokens.input,
            completion_tokens: tokens.output,
            cached_tokens: tokens.cache_read,
          },
        }),
  }
}

/** The words of a content, with the type of each part that has none. */
const textOfStep = (content: readonly Content[]): string =>
  content.map((part) => textIn([part]) || (isTextPart(part) ? '' : `[${part.type ?? 'image'}]`)).join('')
