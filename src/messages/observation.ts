/** An observation as the content that the model is shown: the same each time, without clock or files. */

import { isTextPart, type Content, type ImageContent, type Observation } from '../event/shapes.ts'
import { screenshotUrl } from './images.ts'
import { ERROR_LINE } from './phrases.ts'
import { isWhitespace } from './text.ts'

/** The kinds that are shown by more than their content. A Map, as a tool may give its observations any kind at all. */
const PROJECTIONS: ReadonlyMap<string, (observation: Observation) => readonly Content[]> = new Map([
  ['TerminalObservation', terminal],
  ['BrowserObservation', browser],
  ['TaskObservation', task],
  ['SleeptimeComputeObservation', sleeptime],
])

/**
 * The content that a tool result shows of an observation. An error is shown by one leading line. The same observation
 * gives the same content at any time on any machine; a kind that is not known is shown by its content. O(content).
 *
 * @example
 * observationContent({ kind: 'X', content: [{ text: 'no' }], is_error: true }).length // 2
 */
export function observationContent(observation: Observation): Content[] {
  const show = PROJECTIONS.get(observation.kind)
  const body = show === undefined ? contentOf(observation) : show(observation)
  return observation.is_error === true ? [{ type: 'text', text: ERROR_LINE }, ...body] : [...body]
}

const contentOf = ({ content }: Observation): readonly Content[] => content ?? []

/** One text: what the terminal showed, and below it where it stands and how the command ended. */
function terminal(observation: Observation): Content[] {
  const metadata = record(observation['metadata'])
  const parts = contentOf(observation)
  const texts = parts.filter(isTextPart)
  const shown =
    text(metadata['prefix']) + texts.map((part) => part.text).join('\n') + text(metadata['suffix'])
  const lines = [
    shown,
    line('Current working directory: ', text(metadata['working_dir'])),
    line('Python interpreter: ', text(metadata['py_interpreter_path'])),
    line('Command finished with exit code ', exitCode(metadata['exit_code'])),
  ].filter((each) => each !== '')
  const others = parts.filter((part) => !isTextPart(part))
  if (lines.length === 0) return others
  const cached = texts.some((part) => part.cache_prompt === true)
  return [{ type: 'text', text: lines.join('\n'), ...(cached ? { cache_prompt: true } : {}) }, ...others]
}

/** The text, then the screenshot as a data URL. */
function browser(observation: Observation): Content[] {
  const url = screenshotUrl(text(observation['screenshot_data']))
  const screenshot: ImageContent[] = url === null ? [] : [{ type: 'image', image_urls: [url] }]
  return [...contentOf(observation), ...screenshot]
}

/** Which agent did the task and how it ended, then what it said. */
function task(observation: Observation): Content[] {
  const { task_id, subagent, status } = observation
  const info = `[Task ${text(task_id)}, subagent ${text(subagent)}, status ${text(status)}]`
  return [{ type: 'text', text: info }, ...contentOf(observation)]
}

/** The message stands for content that says nothing. */
function sleeptime(observation: Observation): readonly Content[] {
  const content = contentOf(observation)
  const message = text(observation['message'])
  const silent = content.every((part) => isTextPart(part) && isWhitespace(part.text))
  return silent && message !== '' ? [{ type: 'text', text: message }] : content
}

const line = (label: string, value: string): string => (value === '' ? '' : `[${label}${value}]`)

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

/** A terminal that does not know the exit code says -1. */
const exitCode = (value: unknown): string =>
  typeof value === 'number' && Number.isInteger(value) && value !== -1 ? String(value) : ''

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
