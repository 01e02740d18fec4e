import { estimateTokens, fitToBudget } from '../../context/index.ts'
import { maskSecrets, type NeutralMessage, type State, toMessages } from '../../index.ts'
import { contentText } from '../../inspector/index.ts'
import { GRAMMARS } from '../../laws/index.ts'
import { sessionTree, toAtif, toSpans } from '../../sessions/index.ts'
import { FileError } from '../failure.ts'
import { counted, fit, glimpse, hideSecrets, pad, safe, toJson, width } from '../print/text.ts'
import type { Page, Subject, View } from './page.ts'

function messagesOf(state: State, budget: number | undefined): readonly NeutralMessage[] {
  if (budget === undefined) return toMessages(state)
  const fitted = fitToBudget(state, estimateTokens, budget)
  if (fitted.type === 'fit') return fitted.messages
  throw new FileError('over_budget', fitted.reason.message)
}

/** Returns messages in a format, for the JSON output. @throws ColloquyError `empty_view`. */
function inFormat(format: string, messages: readonly NeutralMessage[]): unknown {
  const grammar = GRAMMARS.find(({ name }) => name === format)
  if (grammar === undefined) return messages
  const written = grammar.write(messages)
  // A writer omits empty fields, but the JSON always has the same fields.
  return grammar.list === null ? written : { ...grammar.front, ...written }
}

const ROLE_COLUMNS = 'assistant'.length

const TEXT_LINES = 6

export const messagesView: View<'messages'> = {
  json({ state, options: { format = 'neutral', budget } }) {
    return { messages: inFormat(format, messagesOf(state, budget)) }
  },
  *show(page, { state, title, options: { format = 'neutral', budget } }) {
    const messages = messagesOf(state, budget)
    if (format !== 'neutral') {
      const document = maskSecrets(inFormat(format, messages))
      if (page.io.stdout.isTTY) yield page.heading(title, format)
      yield* toJson(document, 2).split('\n')
      return
    }
    yield page.heading(title, counted(messages.length, 'message'))
    for (const message of maskSecrets(messages)) yield* messageLines(page, message)
  },
}

function* messageLines(page: Page, message: NeutralMessage): IterableIterator<string> {
  const room = page.columns - ROLE_COLUMNS - 4
  const tone = message.role === 'assistant' ? 'agent' : message.role
  const role = page.paint(tone, pad(message.role, ROLE_COLUMNS))
  for (const [index, line] of bodyLines(page, message, room).entries())
    yield `  ${index === 0 ? role : ' '.repeat(ROLE_COLUMNS)}  ${line}`.trimEnd()
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
    const [tone, text] = message.is_error ? (['bad', `${label}  failed`] as const) : (['dim', label] as const)
    lines.push(page.paint(tone, fit(text, room)))
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

function converted({ recording, state, options }: Subject<'convert'>): unknown {
  const id = recording.conversation ?? recording.session?.id ?? 'conversation'
  const children = recording.session === null ? recording.children : sessionTree(recording.session).children
  const tree = { id, title: null, actionId: null, state, children }
  return maskSecrets(
    options.to === 'otel' ? toSpans(tree, { content: options.content === true }) : toAtif(tree),
  )
}

export const convertView: View<'convert'> = {
  json: (subject) => ({ [subject.options.to ?? 'atif']: converted(subject) }),
  show: (_page, subject) => toJson(converted(subject), 2).split('\n'),
}
