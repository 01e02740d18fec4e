import type { Content, JsonValue, Observation } from '../event/shapes.ts'
import { isImagePart, isTextPart, wordsIn } from '../event/shapes.ts'
import { type CallProgress, completionOf, progressOf, WORKING } from '../event/completion.ts'
import type { Issue } from '../event/issues.ts'
import { maskSecrets } from '../event/mask.ts'
import type { Quarantined } from '../event/quarantine.ts'
import type { ActionEvent, Event, MessageEvent, ObservationEvent } from '../event/types.ts'
import { unreachable } from '../event/errors.ts'
import type { Entry } from '../log/entry.ts'
import type { Status } from '../state/status.ts'
import { glimpse } from './glimpse.ts'
import type { WorkStatus } from './model/calls.ts'
import { counted } from '../explain/explanation.ts'

/** How a text is coloured. */
export type Tone = 'user' | 'agent' | 'system' | 'tool' | 'good' | 'bad' | 'warn' | 'dim' | 'strong' | 'text'

/** How each status is coloured. */
export const STATUS_TONES: Readonly<Record<Status, Tone>> = {
  idle: 'strong',
  running: 'good',
  paused: 'warn',
  waiting_for_confirmation: 'warn',
  finished: 'good',
  error: 'bad',
  stuck: 'bad',
  deleting: 'bad',
}

/** A short description of an event. Each text is one line, and safe to print anywhere. */
export interface Described {
  /** Role or kind of the event, in at most {@link ROLE_WIDTH} characters. */
  readonly role: string
  readonly tone: Tone
  readonly subject: string
  readonly text: string
}

/** Maximum length of `Described.role`, in characters. */
export const ROLE_WIDTH = 11

/**
 * Describes a log entry (an event or a quarantined line) on one line. O(length).
 * @example
 * const event = { kind: 'AgentErrorEvent', id: 'e', tool_name: 'ls', tool_call_id: 'c', error: 'No' }
 * describeEvent(event) // { role: 'error', tone: 'bad', subject: 'ls', text: 'No' }
 * describeEntry(replay([event]).log.entries.get(0)).subject // 'ls'
 * glimpseIssue({ type: 'value_error', loc: ['a', 0], msg: 'is missing' }) // 'a.0: is missing'
 * typeof reasonOf(loadLine('no').fact) // 'string'
 * contentText([{ text: 'Look:' }, { image_urls: ['a', 'b'] }]) // 'Look: [2 images]'
 */
export function describeEntry(entry: Entry): Described {
  if (entry.event !== null) return describeEvent(entry.event)
  return described('quarantined', 'bad', entry.quarantined?.event_kind ?? '', reasonOf(entry.quarantined))
}

/** Returns why a line is quarantined: its first issue. */
export function reasonOf(quarantined: Quarantined | null): string {
  const [first, ...others] = quarantined?.issues ?? []
  if (first === undefined) return 'not an event'
  return glimpseIssue(first) + (others.length === 0 ? '' : ` (and ${counted(others.length, 'more issue')})`)
}

/** Returns an issue on one line, with its path. */
export const glimpseIssue = ({ loc, msg }: Issue): string =>
  glimpse(`${loc.length === 0 ? '' : `${loc.join('.')}: `}${msg}`)

/** Describes an event on one line. Every `encrypted_content` is masked before the text is cut. O(length). */
export function describeEvent(original: Event): Described {
  const event = maskSecrets(original)
  switch (event.kind) {
    case 'SystemPromptEvent':
      return described('system', 'system', counted(event.tools.length, 'tool'), event.system_prompt.text)
    case 'MessageEvent':
      return describeMessage(event)
    case 'CondensationSummaryEvent':
      return described('summary', 'system', '', event.summary)
    case 'ActionEvent':
      return described('call', 'agent', event.tool_name, callText(event))
    case 'ObservationEvent':
      return describeObservation(event)
    case 'UserRejectObservation':
      return described(
        'rejected',
        'warn',
        event.tool_name,
        event.rejection_reason ?? `by the ${event.rejection_source ?? 'user'}`,
      )
    case 'AgentErrorEvent':
      return described('error', 'bad', event.tool_name, event.error)
    case 'Condensation': {
      const forgets = `forgets ${counted(event.forgotten_event_ids?.length ?? 0, 'event')}`
      return described('condense', 'system', forgets, event.summary ?? '')
    }
    case 'CondensationRequest':
      return described('condense', 'system', 'requested', '')
    case 'ConversationErrorEvent':
      return described('failure', 'bad', event.code, event.detail)
    case 'ServerErrorEvent':
      return described('server', 'bad', event.code, event.detail)
    case 'ConversationStateUpdateEvent': {
      const progress = progressOf(event)
      if (progress !== null) {
        const task = progress.task === undefined ? '' : `task ${valueText(progress.task)}`
        const shown = [progressText(progress), task].filter((text) => text !== '').join(' ')
        return described('progress', 'dim', '', shown || '(empty)')
      }
      return described('state', 'dim', event.key ?? '', valueText(event.value))
    }
    case 'HookExecutionEvent': {
      const outcome =
        event.blocked === true ? 'blocked: ' : event.success ? '' : `failed (${event.exit_code}): `
      return described('hook', 'dim', event.hook_event_type, outcome + (event.reason ?? event.hook_command))
    }
    case 'PauseEvent':
      return described('pause', 'warn', '', 'the run is paused')
    case 'InterruptEvent':
      return described('interrupt', 'warn', '', 'the run is interrupted')
    case 'ACPToolCallEvent':
      return described('acp call', 'tool', event.status ?? '', event.title)
    case 'LLMCompletionLogEvent':
      return described('llm log', 'dim', event.model_name ?? '', event.filename)
    case 'StreamingDeltaEvent':
      return described('delta', 'dim', '', event.content ?? event.reasoning_content ?? '')
    case 'TokenEvent': {
      const [input, made] = [event.prompt_token_ids.length, event.response_token_ids.length]
      return described('tokens', 'dim', '', `${input} in, ${made} out`)
    }
    default:
      return unreachable(event, 'kind')
  }
}

function described(role: string, tone: Tone, subject: string, text: string): Described {
  return { role, tone, subject: glimpse(subject), text: glimpse(text) }
}

export function progressText({ progress, content }: CallProgress): string {
  const share = typeof progress === 'number' && progress >= 0 && progress <= 1
  const amount = progress === undefined ? '' : share ? `${Math.round(progress * 100)}%` : valueText(progress)
  const more = content === undefined ? '' : typeof content === 'string' ? content : valueText(content)
  return [amount, more].filter((text) => text !== '').join(' ')
}

export const WORK_STATUSES: Readonly<
  Record<WorkStatus['outcome'], { readonly role: string; readonly tone: Tone }>
> = {
  working: { role: 'working', tone: 'tool' },
  done: { role: 'completed', tone: 'tool' },
  failed: { role: 'failed', tone: 'bad' },
  cancelled: { role: 'cancelled', tone: 'warn' },
  lost: { role: 'lost', tone: 'bad' },
}

function describeMessage(event: MessageEvent): Described {
  const { source, llm_message } = event
  const completes = completionOf(event)
  if (completes !== null) {
    const { role, tone } = WORK_STATUSES[completes.outcome]
    return described(role, tone, completes.tool_name, contentText(llm_message.content ?? []) || '(empty)')
  }
  const calls = (llm_message.tool_calls ?? []).map((call) => call.name)
  const text =
    contentText(llm_message.content ?? []) || (calls.length > 0 ? `(calls ${calls.join(', ')})` : '')
  if (source === 'user') return described('user', 'user', '', text)
  if (source === 'agent') return described('agent', 'agent', '', text)
  return described(source === 'hook' ? 'hook' : 'message', 'system', '', text)
}

function describeObservation({ tool_name, observation }: ObservationEvent): Described {
  const text = outcome(observation) || '(empty)'
  if (observation.kind === WORKING) return described('working', 'tool', tool_name, text)
  return observation.is_error === true
    ? described('failed', 'bad', tool_name, text)
    : described('result', 'tool', tool_name, text)
}

/** Returns a result's text. For a command, returns only the last output line, which shows how the command ended. */
function outcome({ kind, content = [] }: Observation): string {
  const text = contentText(content)
  if (kind !== 'TerminalObservation') return text
  const output = text.trimEnd()
  return output.slice(output.lastIndexOf('\n') + 1)
}

/** Returns content as text: its texts, the number of images, and the kinds of other parts. O(length). */
export function contentText(content: readonly Content[]): string {
  return content.map(partText).join(' ')
}

function partText(part: Content): string {
  if (isTextPart(part)) return part.text
  return isImagePart(part)
    ? `[${counted(part.image_urls.length, 'image')}]`
    : `[${[part.type, ...wordsIn(part)].join(' ')}]`
}

const INFORMATIVE = [
  'command',
  'path',
  'file_path',
  'pattern',
  'query',
  'url',
  'name',
  'message',
  'thought',
  'prompt',
] as const

function callText({ action, tool_call }: ActionEvent): string {
  if (action === null || action === undefined) return `(cannot run) ${tool_call.arguments}`
  const texts = INFORMATIVE.map((field) => action[field]).filter(
    (value) => typeof value === 'string' && value !== '',
  )
  if (texts.length > 0) return texts.join(' ')
  const { kind: _, ...fields } = action
  return JSON.stringify(fields)
}

const valueText = (value: JsonValue | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value ?? null)
