/** Shows what the model is sent: a transcript for the neutral format, indented JSON for a provider's. */

import { estimateTokens, fitToBudget } from '../../context/index.ts'
import { listPendingCalls, maskSecrets, type NeutralMessage, type State, toMessages } from '../../index.ts'
import { contentText } from '../../inspector/index.ts'
import { GRAMMARS } from '../../laws/index.ts'
import type { Format } from '../args/commands.ts'
import type { FileRequest } from '../args/request.ts'
import { FileError } from '../failure.ts'
import {
  counted,
  fit,
  glimpse,
  hideSecrets,
  pad,
  quoted,
  safe,
  toJson,
  type Tone,
  width,
} from '../print/text.ts'
import { heading, type Page, wrapped } from './page.ts'

const ROLES: Readonly<Record<NeutralMessage['role'], Tone>> = {
  system: 'system',
  user: 'user',
  assistant: 'agent',
  tool: 'tool',
}

const ROLE_COLUMNS = 'assistant'.length

/** How many lines of one text are shown. */
const TEXT_LINES = 6

/** Shows messages in a format. A provider's is one JSON document, and with `titled` has a heading above it. */
export function* showMessages(
  page: Page,
  title: string,
  { format, budget }: Pick<FileRequest, 'format' | 'budget'>,
  state: State,
  titled: boolean,
): IterableIterator<string> {
  const given = messagesOf(state, budget)
  if (format === 'neutral') {
    const messages = maskSecrets(given)
    yield heading(page, safe(title), counted(messages.length, 'message'))
    for (const message of messages) yield* messageLines(page, message)
    const waiting = messages.length === 0 ? waitingNote(state) : null
    if (waiting !== null) yield* wrapped(page, '  ', 2, waiting)
    return
  }
  const messages = maskSecrets(messagesIn(format, given, state))['messages']
  if (titled) yield heading(page, safe(title), format)
  yield* toJson(messages, 2).split('\n')
}

/** One message: its role, its text, then its calls. */
function* messageLines(page: Page, message: NeutralMessage): IterableIterator<string> {
  const room = page.columns - ROLE_COLUMNS - 4
  const lines = bodyLines(page, message, room)
  const role = page.paint(ROLES[message.role], pad(message.role, ROLE_COLUMNS))
  for (const [index, line] of lines.entries()) {
    yield `  ${index === 0 ? role : ' '.repeat(ROLE_COLUMNS)}  ${line}`.trimEnd()
  }
}

function bodyLines(page: Page, message: NeutralMessage, room: number): string[] {
  const lines: string[] = []
  if (message.role === 'assistant') {
    const { reasoning_content, thinking_blocks } = message
    const thinking = thinking_blocks
      .map((block) => ('thinking' in block ? block.thinking : '(redacted)'))
      .join(' ')
    const thought = thinking === '' ? (reasoning_content ?? '') : thinking
    if (thought !== '') lines.push(page.paint('dim', fit(`(thinks) ${glimpse(thought)}`, room)))
  }
  if (message.role === 'tool') {
    const label = `${glimpse(message.name)} ${glimpse(message.tool_call_id)}`
    lines.push(
      page.paint(message.is_error ? 'bad' : 'dim', fit(message.is_error ? `${label}  failed` : label, room)),
    )
  }
  lines.push(...textLines(page, contentText(message.content), room))
  if (message.role === 'assistant') {
    for (const { id, name, arguments: args } of message.tool_calls) {
      const shownId = glimpse(id)
      const call = fit(`${glimpse(name)} ${glimpse(args)}`, Math.max(room - width(shownId) - 4, 20))
      lines.push(`${page.paint('agent', '→')} ${call}  ${page.paint('dim', shownId)}`)
    }
  }
  return lines.length === 0 ? [page.paint('dim', '(empty)')] : lines
}

/** The first lines of a text, each cut to the page. */
function textLines({ paint }: Page, text: string, room: number): string[] {
  const lines = hideSecrets(text)
    .trim()
    .split(/\r\n|[\n\r\u0085\u2028\u2029]/, 10_000)
  if (lines.length === 1 && lines[0] === '') return []
  const shown = lines
    .slice(0, TEXT_LINES)
    .map((line) => fit(safe(line.slice(0, 2000).replaceAll('\t', '  ')), room))
  const more = lines.length - shown.length
  return more > 0 ? [...shown, paint('dim', `… ${counted(more, 'more line')}`)] : shown
}

/** What is sent of a state, within a budget of estimated tokens where there is one. @throws FileError `over_budget` */
export function messagesOf(state: State, budget?: number): readonly NeutralMessage[] {
  if (budget === undefined) return toMessages(state)
  const fit = fitToBudget(state, estimateTokens, budget)
  if (fit.type === 'fit') return fit.messages
  throw new FileError('over_budget', fit.reason.message)
}

/** Why there is nothing to send, where calls wait for their results; null where none does. */
export function waitingNote(state: State): string | null {
  const waiting = listPendingCalls(state)
  const [first] = waiting
  if (first === undefined) return null
  const { tool_name, tool_call_id } = first.entry.event
  const [others, wait] = waiting.length === 1 ? ['', 'waits'] : [` and ${waiting.length - 1} more`, 'wait']
  return `call ${quoted(tool_call_id)} of ${quoted(tool_name)}${others} ${wait} for a result, and until then nothing of the reply is sent`
}

/**
 * What the model is sent of a state, as the `messages` command gives it.
 * @throws FileError or ColloquyError `empty_view` in a provider's grammar.
 */
export function messagesIn(
  format: Format,
  messages: readonly NeutralMessage[],
  state: State,
): Readonly<Record<string, unknown>> {
  const waiting = messages.length === 0 && format !== 'neutral' ? waitingNote(state) : null
  if (waiting !== null) throw new FileError('empty_view', `there is nothing to send: ${waiting}`)
  const grammar = GRAMMARS.find(({ name }) => name === format)
  if (grammar === undefined) return { messages }
  const written = grammar.write(messages)
  // Results have the same fields always, where a writer leaves empty ones out.
  return { messages: grammar.list === null ? written : { ...grammar.front, ...written } }
}
