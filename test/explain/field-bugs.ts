/** Ten common mistakes of agents: for each, a small log with it, and the same log without it. */

import type { FindingKind } from '../../src/explain/finding.ts'
import type { Event, MessageEvent } from '../../src/event/types.ts'
import { action, agent, condensation, fail, observe, pair, system, user } from '../build.ts'

export interface FieldBug {
  readonly name: string
  readonly log: readonly Event[]
  readonly healthy: readonly Event[]
  /** The kind of the first finding, and its text. */
  readonly kind: FindingKind
  readonly pattern: RegExp
  /** The events of the finding, its subject first. */
  readonly ids: readonly string[]
}

/** Returns a text reply with a record. */
function text(id: string, content: string, record: object, thinking = false): MessageEvent {
  const signed = { thinking_blocks: [{ type: 'thinking', thinking: `on ${id}`, signature: 'c2ln' }] } as const
  const llm_message = {
    role: 'assistant',
    content: [{ type: 'text', text: content }],
    ...(thinking && signed),
    reply: record,
  } as const
  return { ...agent(id), llm_message, llm_response_id: `reply-${id}` }
}

const task = user('task', 'Please rename every occurrence of colour to color in the documentation folder')
const list = action('list', { tool: 'ls', call: 'c1', response: 'r1', args: '{"path":"docs"}' })
const read = action('read', { tool: 'cat', call: 'c2', response: 'r1', args: '{"path":"guide.txt"}' })
const listed = observe('listed', list, 'a.md')
const done = agent('done', 'All of them are renamed.')

const elsewhere = action('gone', { tool: 'cat', call: 'c9' })
const orphans: FieldBug = {
  name: 'orphaned results',
  log: [task, list, listed, observe('stray', elsewhere, 'what a lost call gave'), done],
  healthy: [task, list, listed, elsewhere, observe('stray', elsewhere, 'what the call gave'), done],
  kind: 'orphan_result',
  pattern: /result ends no call.*no call with the id "c9"/,
  ids: ['stray'],
}

const readIt = observe('read-it', read, 'colour')
const split: FieldBug = {
  name: 'a split batch',
  log: [task, list, listed, read, readIt, done],
  healthy: [task, list, read, listed, readIt, done],
  kind: 'split_batch',
  pattern: /"list" belong to the reply "r1".*the model sees two replies/,
  ids: ['read'],
}

const rules = 'You are a careful editor. Keep to the style guide, and say what you did.'
const dated = (id: string, day: string) => system(id, `${rules} Today is ${day}.`)
const cache: FieldBug = {
  name: 'a cache broken by a date in the system prompt',
  log: [
    dated('s1', 'Saturday, 2026-11-21'),
    task,
    agent('plan'),
    user('go'),
    dated('s2', 'Sunday, 2026-11-22'),
    done,
  ],
  healthy: [system('s1', rules), task, agent('plan'), user('go'), user('day', 'It is Sunday now.'), done],
  kind: 'cache_broken',
  pattern: /system prompt "s2" differs from the previous one only by a date.*tokens must be read again/,
  ids: ['s2'],
}

const thought = text('plan', 'I begin with the folder.', { grammar: 'anthropic', after: 'task' }, true)
const signed: FieldBug = {
  name: 'a signed block after a changed prefix',
  log: [system('s1', rules), task, thought, user('go'), system('s2', 'Answer in French.'), done],
  healthy: [system('s1', rules), task, thought, user('go', 'Go on, in French.'), done],
  kind: 'signed_behind_change',
  pattern: /system prompt "s2" replaces another one.*signed thinking of 1 reply is after the change/,
  ids: ['s2'],
}

const again = (from: number, to: number, args: (n: number) => string) =>
  Array.from({ length: to - from }, (_, n) => pair(`${from + n}`, { tool: 'grep', args: args(n) }))
const circle = again(0, 5, () => '{"q":"colour"}').flatMap(([call]) => [
  call,
  observe(`o${call.id}`, call, 'no match'),
])
const search = again(0, 5, (n) => `{"q":"colour ${n}"}`).flat()
const loop: FieldBug = {
  name: 'a loop',
  log: [task, ...circle],
  healthy: [task, ...search],
  kind: 'loop',
  pattern: /is in a loop: The same call of "grep" had the same result 4 times in a row/,
  ids: ['a1', 'oa1', 'a2', 'oa2', 'a3', 'oa3', 'a4', 'oa4'],
}

const late = user('late', 'And the headings too', { parent_id: 'task' })
const lost: FieldBug = {
  name: 'a lost branch',
  log: [task, list, listed, late, done],
  healthy: [task, list, listed, user('late', 'And the headings too'), done],
  kind: 'lost_branch',
  pattern: /a branch with 1 result of the agent is not visible to the model: "late" has the parent "task"/,
  ids: ['listed', 'late', 'list'],
}

const retried = { ...list, id: 'list-again' }
const retry = action('anew', { tool: 'ls', call: 'c4', response: 'r2', args: '{"path":"docs"}' })
const doubled: FieldBug = {
  name: 'a doubled tool call',
  log: [
    task,
    list,
    retried,
    observe('listed', retried, 'a.md'),
    fail('ended', list, 'the server stopped'),
    done,
  ],
  healthy: [
    task,
    list,
    fail('ended', list, 'the server stopped'),
    retry,
    observe('listed', retry, 'a.md'),
    done,
  ],
  kind: 'doubled_call',
  pattern: /call of "ls" is repeated: "list-again" equals "list"/,
  ids: ['list-again', 'list'],
}

const worked = ['task', 'plan', 'a1', 'o1']
const compacted = (summary: string) => [
  task,
  agent('plan', 'I begin with the folder.'),
  ...pair('1'),
  ...pair('2'),
  condensation('sum', worked, summary, 0),
  ...pair('3'),
]
const forgot: FieldBug = {
  name: 'a compaction that forgot the task',
  log: compacted('A listing was made and one file was opened.'),
  healthy: compacted(
    'The user wants colour renamed to color in every file of the documentation folder; one file was opened.',
  ),
  kind: 'forgotten_task',
  pattern:
    /condensation "sum" removed the task \("task"\) from the view, and its summary contains hardly any words of this message/,
  ids: ['sum', 'task'],
}

const env = action('env', { tool: 'env', call: 'c3' })
const secret: FieldBug = {
  name: 'a secret in a result',
  log: [task, env, observe('vars', env, `AWS_ACCESS_KEY_ID=AKIA${'QWERTYUIOPASDFGH'}`), done],
  healthy: [task, env, observe('vars', env, 'AWS_ACCESS_KEY_ID is set'), done],
  kind: 'secret',
  pattern: /the result of "env" contains a likely secret, at observation\.content\[0\]\.text/,
  ids: ['vars'],
}

const cut: FieldBug = {
  name: 'a truncated reply',
  log: [task, text('cut', 'All of them are ren', { outcome: 'truncated', stop_reason: 'max_tokens' })],
  healthy: [task, text('cut', 'All of them are renamed.', {})],
  kind: 'cut_off',
  pattern: /the reply was cut off by its token limit \(max_tokens\)/,
  ids: ['cut'],
}

export const FIELD_BUGS: readonly FieldBug[] = [
  orphans,
  split,
  cache,
  signed,
  loop,
  lost,
  doubled,
  forgot,
  secret,
  cut,
]
