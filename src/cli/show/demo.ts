/** Shows the state, tree, view and repairs of the sample conversation on one page. */

import type { Recording } from '../input/recording.ts'
import { pad, width } from '../print/text.ts'
import { repairRows, repairsOf } from './check.ts'
import { heading, type Page } from './page.ts'
import { stateRows } from './replay.ts'
import { treeLines, type TreeRow, treeRows } from './tree.ts'
import { viewRows } from './view.ts'

const AGENT = [
  "import Anthropic from '@anthropic-ai/sdk'",
  "import { createEngine, memoryStore } from 'colloquy'",
  "import { anthropicStep } from 'colloquy/steps'",
  'const client = new Anthropic() // with ANTHROPIC_API_KEY',
  "const step = anthropicStep({ client, model: 'claude-sonnet-5-5', max_tokens: 1024 })",
  'const conversation = await createEngine({ store: memoryStore() }).create()',
  "await conversation.sendMessage('Hello!')",
  'await conversation.run(step)',
  'console.log((await conversation.messages()).at(-1))',
]

export function* showDemo(
  page: Page,
  recording: Recording,
  command: string,
  file: string,
): IterableIterator<string> {
  const { state } = recording
  yield heading(page, 'State', 'what the log means, folded event by event')
  yield* stateRows(page, state)
  yield ''
  yield heading(page, 'Tree', '● leads to HEAD   ○ on an abandoned branch')
  yield* treeLines(page, recording, (row) => isMinor(row) && row.entry !== state.log.head)
  yield ''
  yield heading(page, 'What the model sees')
  yield* viewRows(page, state, false)
  yield ''
  yield heading(page, 'What was repaired')
  yield* repairRows(page, repairsOf(recording))
  yield ''
  yield heading(page, 'An agent of your own', 'with tools, streams and other models: docs/steps.md')
  yield* AGENT.map((line) => `  ${line}`)
  yield ''
  yield heading(page, 'Try next')
  yield* suggestions(page, command, file, endOfOtherBranch(recording))
}

const isMinor = ({ isRemark, entry }: TreeRow): boolean =>
  isRemark || ['ObservationEvent', 'CondensationRequest'].includes(entry.event?.kind ?? '')

function* suggestions(
  { paint }: Page,
  command: string,
  file: string,
  leaf: string,
): IterableIterator<string> {
  const tries = [
    [`${command} messages ${file} --format anthropic`, 'the request'],
    [`${command} view ${file} --leaf ${leaf}`, 'other branch'],
    [`${command} check YOUR-LOG.jsonl`, 'your own log'],
    [`${command} serve`, 'as a service'],
    [`${command} help`, 'all the rest'],
  ] as const
  const columns = Math.max(...tries.map(([line]) => width(line)))
  for (const [line, why] of tries) yield `  ${paint('strong', pad(line, columns))}  ${paint('dim', why)}`
}

function endOfOtherBranch({ state }: Recording): string {
  for (const { isEnd, onHeadPath, entry } of treeRows(state)) if (isEnd && !onHeadPath) return entry.id ?? ''
  return state.log.head?.id ?? ''
}
