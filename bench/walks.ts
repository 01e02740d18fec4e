/**
 * Prints how many files and named functions of `src` one warm call enters: `npm run walks`, or `-- --show
 * health` for their names.
 */

import { Session } from 'node:inspector/promises'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { createEngine, type Event, memoryStore, type Store, toAnthropic, toMessages } from '../src/index.ts'
import { fromAnthropic } from '../src/messages/index.ts'
import { createService, type Service } from '../src/service/index.ts'
import { replay } from '../src/state/index.ts'
import { anthropicStep, tool } from '../src/steps/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { orUsage } from '../test/usage.ts'

const SRC = pathToFileURL(`${resolve(import.meta.dirname, '../src')}/`).href
const WARM_UP = 5
/** Counted calls. V8 sometimes misses a function, so the fullest count is printed. */
const COUNTED = 3

interface Walk {
  readonly name: string
  readonly files: number
  readonly functions: number
  readonly calls: number
}

const { json, show } = orUsage(() => {
  const options = { json: { type: 'boolean', default: false }, show: { type: 'string' } } as const
  return parseArgs({ options }).values
})
const session = new Session()
session.connect()
await session.post('Profiler.enable')
const folder = mkdtempSync(join(tmpdir(), 'colloquy-walks-'))
const walks: Walk[] = []
const cleanUps: (() => unknown)[] = []

/** Counts the functions that one warm call enters. `prepare` runs before each call, uncounted. */
async function walk<T>(
  name: string,
  call: (prepared: T) => unknown,
  prepare: () => T | Promise<T>,
): Promise<void> {
  for (let n = 0; n < WARM_UP; n += 1) await call(await prepare())
  let fullest: readonly CalledFile[] = []
  for (let n = 0; n < COUNTED; n += 1) {
    const files = await filesCalledBy(call, await prepare())
    if (sumOf(files, () => 1) > sumOf(fullest, () => 1)) fullest = files
  }
  const [functions, calls] = [sumOf(fullest, () => 1), sumOf(fullest, ({ count }) => count)]
  walks.push({ name, files: fullest.length, functions, calls })
  if (show === undefined || !name.includes(show)) return
  for (const { file, functions } of fullest)
    console.log(`${file}: ${functions.map((each) => each.name).join(' ')}`)
}

interface CalledFunction {
  readonly name: string
  readonly count: number
}
interface CalledFile {
  readonly file: string
  readonly functions: readonly CalledFunction[]
}
const sumOf = (files: readonly CalledFile[], valueOf: (each: CalledFunction) => number): number =>
  files.flatMap(({ functions }) => functions.map(valueOf)).reduce((sum, each) => sum + each, 0)

async function filesCalledBy<T>(call: (prepared: T) => unknown, prepared: T): Promise<readonly CalledFile[]> {
  // Deferred work of earlier calls must not be counted.
  await new Promise((done) => setTimeout(done, 50))
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await call(prepared)
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  return result
    .filter(({ url }) => url.startsWith(SRC) && !url.startsWith(`${SRC}testing/`))
    .map(({ url, functions }) => ({
      file: url.slice(SRC.length),
      functions: functions.flatMap(({ functionName, ranges: [range] }) =>
        functionName !== '' && range !== undefined && range.count > 0
          ? [{ name: functionName, count: range.count }]
          : [],
      ),
    }))
    .filter(({ functions }) => functions.length > 0)
}

const noPreparation = (): null => null

/** A service over a store, with one conversation `c` of thirty messages. */
async function serve(store: Store): Promise<Service> {
  const engine = createEngine({ store })
  const conversation = await engine.create({ id: 'c' })
  for (let n = 0; n < 30; n += 1) await conversation.sendMessage(`Message ${n}`)
  cleanUps.push(async () => {
    await engine.close()
    await store.close()
  })
  return createService({ engine })
}

/** Requests a path and reads the whole response. A body has its length, as clients send it. */
const request = (service: Service, path: string, body?: object) => async (): Promise<unknown> => {
  const text = JSON.stringify(body)
  const headers = { 'content-type': 'application/json', 'content-length': `${text?.length}` }
  const init = body === undefined ? {} : { method: 'POST', body: text, headers }
  const response = await service.fetch(new Request(`http://localhost${path}`, init))
  if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`)
  return response.json()
}

const memory = await serve(memoryStore())
const sqlite = await serve(sqliteStore({ file: join(folder, 'walks.db') }))
const message = { role: 'user', content: [{ type: 'text', text: 'Hello' }] }
const post = '/api/conversations/c/events'
const page = '/api/conversations/c/events/search?limit=10'

await walk('GET /health', request(memory, '/health'), noPreparation)
await walk('POST a message, in memory', request(memory, post, message), noPreparation)
await walk('POST a message, SQLite', request(sqlite, post, message), noPreparation)
await walk('GET a page of 10, in memory', request(memory, page), noPreparation)
await walk('GET a page of 10, SQLite', request(sqlite, page), noPreparation)

const reply = (content: readonly object[], stop_reason: string) => ({
  id: `msg_${stop_reason}`,
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-5-5',
  content,
  stop_reason,
  usage: { input_tokens: 10, output_tokens: 5 },
})
const call = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Paris' } }
const callReply = reply([{ type: 'text', text: 'One moment.' }, call], 'tool_use')

const user = (id: string, text: string): Event => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
})
const state = replay([
  user('u1', 'What is the weather in Paris?'),
  ...fromAnthropic(callReply).events,
  {
    kind: 'ObservationEvent',
    source: 'environment',
    tool_name: 'weather',
    tool_call_id: 'toolu_1',
    action_id: fromAnthropic(callReply).events.find(({ kind }) => kind === 'ActionEvent')?.id ?? '',
    observation: { kind: 'WeatherObservation', content: [{ type: 'text', text: 'Sun.' }] },
  },
  user('u2', 'Thanks.'),
])
await walk('a state to an Anthropic request', () => toAnthropic(toMessages(state)), noPreparation)
await walk('an Anthropic reply to events', () => fromAnthropic(callReply), noPreparation)

const engine = createEngine({ store: memoryStore() })
cleanUps.push(() => engine.close())
const CITY = z.object({ city: z.string() })
const weather = tool({
  name: 'weather',
  description: 'Returns the weather of a city.',
  parameters: CITY,
  execute: () => 'Sun.',
})
/** A client that calls the tool once, then replies. */
const client = () => {
  const replies = [callReply, reply([{ type: 'text', text: 'It is sunny.' }], 'end_turn')]
  return { messages: { create: async () => replies.shift() } }
}
await walk(
  'one turn of a run: call, result, reply',
  async (conversation) => {
    const options = { client: client(), model: 'claude-sonnet-5-5', max_tokens: 100, stream: false }
    await conversation.run(anthropicStep({ ...options, tools: [weather] }))
  },
  async () => {
    const conversation = await engine.create()
    await conversation.sendMessage('What is the weather in Paris?')
    return conversation
  },
)

for (const cleanUp of cleanUps.toReversed()) await cleanUp()
rmSync(folder, { recursive: true, force: true })
if (json) console.log(JSON.stringify(walks))
else {
  console.log('| One call | Files | Functions | Calls |\n| --- | --- | --- | --- |')
  for (const { name, files, functions, calls } of walks)
    console.log(`| ${name} | ${files} | ${functions} | ${calls} |`)
}
