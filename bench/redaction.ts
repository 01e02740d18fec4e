/** Compares the cost of redacting an event with serializing it as JSON: `npm run bench:redaction`. */

import { redact } from '../src/context/redaction/redact.ts'
import { redactionRules } from '../src/context/redaction/rules.ts'
import { encodeEvent } from '../src/event/encode.ts'
import type { Event } from '../src/event/types.ts'
import { noArguments } from '../test/usage.ts'
import { machine, measure } from './measure.ts'

const MEGABYTE = 1_000_000

const secrets = Array.from({ length: 20 }, (_, i) => `the secret value number ${i}`)
const RULES = redactionRules({ secrets, key: 'bench' })

const fill = (part: string): string => part.repeat(Math.ceil(MEGABYTE / part.length)).slice(0, MEGABYTE)
const items = Array.from({ length: MEGABYTE / 60 }, (_, i) => ({
  name: `item ${i}`,
  value: `text\nwith "quotes" ${i}`,
}))

/** About a megabyte each. */
const TEXTS: Readonly<Record<string, string>> = {
  prose: fill('The quick brown fox jumps over the lazy dog.\n'),
  code: fill('export const answer = (question: string): number => question.length * 42 // "why"\n'),
  JSON: JSON.stringify(items),
  'JSON in JSON': JSON.stringify(JSON.stringify(items)),
  base64: fill('TWFueSBoYW5kcyBtYWtlIGxpZ2h0IHdvcmsu'),
  'a secret in each line': fill(`key = ${secrets[3]}, and some more words to fill the line\n`),
  'only secrets': fill(`${secrets[3]} sk-ant-AAAAAAAAAAAAAAA1 `),
}

const command = 'grep -rn "redact" src | head -20 && npm test\n'.repeat(16)
const typical: Event = {
  kind: 'ActionEvent',
  id: 'a',
  source: 'agent',
  timestamp: '2026-01-01T00:00:00Z',
  thought: [{ type: 'text', text: 'I look for the place where it is done. '.repeat(16) }],
  action: { kind: 'TerminalAction', command },
  tool_name: 'terminal',
  tool_call_id: 'c',
  tool_call: { id: 'c', name: 'terminal', arguments: JSON.stringify({ command }), origin: 'completion' },
  llm_response_id: 'r',
}

function printRow(name: string, event: Event, times: number): void {
  const [serialization, redaction] = measure(
    [
      { name: 'JSON.stringify', count: 1, times, run: () => encodeEvent(event) },
      { name: 'redact', count: 1, times, run: () => redact(event, RULES) },
    ],
    9,
  )
  const [floor, cost] = [serialization?.minimum ?? 0, redaction?.minimum ?? 0]
  const bytes = `${encodeEvent(event).length.toLocaleString('en')} B`
  const cells = [
    name.padEnd(22),
    bytes.padStart(14),
    `${floor.toFixed(1)} µs`.padStart(14),
    `${cost.toFixed(1)} µs`.padStart(14),
  ]
  console.log(`${cells.join(' ')} ${`${(cost / floor).toFixed(1)} x`.padStart(8)}`)
}

noArguments()
console.log(machine())
console.log('20 literal secrets, all built-in patterns and field names, masks with a key; minimum of 9')
console.log(
  `${''.padEnd(22)} ${['as JSON', 'JSON.stringify', 'redact'].map((text) => text.padStart(14)).join(' ')}`,
)
printRow('a typical action', typical, 200)
for (const [name, text] of Object.entries(TEXTS)) {
  printRow(name, { kind: 'AgentErrorEvent', tool_name: 't', tool_call_id: 'c', error: text }, 1)
}
