/** Unknown options throw at run time, with the nearest name (design D50), in every published function. */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import * as agUi from '../src/adapters/ag-ui.ts'
import { sessionStore } from '../src/adapters/claude-agent.ts'
import { colloquySaver } from '../src/adapters/langgraph.ts'
import { colloquySession } from '../src/adapters/openai-agents.ts'
import * as aiSdk from '../src/ai-sdk.ts'
import * as context from '../src/context/index.ts'
import { redactionRules, redactLog } from '../src/context/redaction/index.ts'
import type { Conversation, Engine } from '../src/conversation/index.ts'
import { shellHook } from '../src/conversation/shell/shell-hook.ts'
import { explain, findings } from '../src/explain/index.ts'
import { createEngine, memoryStore, type State, type Store } from '../src/index.ts'
import { checkLog, GRAMMARS } from '../src/laws/index.ts'
import * as messages from '../src/messages/index.ts'
import { createService, verifyWebhook } from '../src/service/index.ts'
import * as node from '../src/service/node/index.ts'
import { readSession, toAtif, toSpans } from '../src/sessions/index.ts'
import * as steps from '../src/steps/index.ts'
import * as kit from '../src/store/kit/index.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import * as testing from '../src/testing/index.ts'
import { driveServer, scriptedModel } from '../src/testing/server/index.ts'
import { says } from './conversation/script.ts'

interface World {
  readonly store: Store
  readonly engine: Engine
  readonly conversation: Conversation
  readonly state: State
}

/** A known option, which the test misspells, and a call with additional options. */
type Row = readonly [option: string, call: (more: object, world: World) => unknown]

const reply = { id: 'r', content: [] }
const subject = { initial: 0, reduce: (count: number) => count + 1 }
const files = { read: () => null, write: () => undefined }
const about = {
  conversationId: 'c',
  createdAt: '',
  timeZone: null,
  tip: kit.EMPTY_TIP,
  lease: null,
  find: () => undefined,
  at: () => expect.fail('The log is empty.'),
}
const large = { path: [], hash: '', bytes: 0, text: '' }
const nothing = async (): Promise<void> => undefined
const pause = { kind: 'PauseEvent', id: 'p' } as const

/** The readers of whole replies and of streams, of all grammars. */
const READERS: Readonly<Record<string, Row>> = Object.fromEntries(
  Object.entries(messages).flatMap(([name, call]): [string, Row][] => {
    const read = call as (...args: unknown[]) => unknown
    if (name.startsWith('collect')) return [[name, ['request', (more) => read(more)]]]
    return name.startsWith('from') ? [[name, ['request', (more) => read(reply, more)]]] : []
  }),
)

const CALLS: Readonly<Record<string, Row>> = {
  ...READERS,
  'Blobs.readBlob': ['start', (more, { store }) => store.readBlob('c', 'a'.repeat(64), more)],
  'Condenser.condense': [
    'signal',
    (more, { state }) =>
      context.rollingCondenser({ summarise: async () => '', maxEvents: 8 }).condense(state, more),
  ],
  'Conversation.append': ['expected', (more, { conversation }) => conversation.append(pause, more)],
  'Conversation.fork': ['metadata', (more, { conversation }) => conversation.fork(more)],
  'Conversation.interrupt': ['working', (more, { conversation }) => conversation.interrupt(more)],
  'Conversation.recover': ['unheld', (more, { conversation }) => conversation.recover(more)],
  'Conversation.run': ['leaseTtl', (more, { conversation }) => conversation.run(() => [says('Hi')], more)],
  'Conversation.search': ['timestampGte', (more, { conversation }) => conversation.search(more)],
  'Conversation.sendMessage': ['sender', (more, { conversation }) => conversation.sendMessage('Hi', more)],
  'Conversation.subscribe': ['after', (more, { conversation }) => conversation.subscribe(more).next()],
  'Conversation.subscribeTree': [
    'signal',
    (more, { conversation }) => conversation.subscribeTree(more).next(),
  ],
  'Conversation.waitFor': ['signal', (more, { conversation }) => conversation.waitFor('idle', more)],
  'Engine.applyRetention': [
    'olderThan',
    (more, { engine }) => engine.applyRetention({ keepLast: 1, ...more }),
  ],
  'Engine.create': ['title', (more, { engine }) => engine.create(more)],
  'Engine.deleteConversations': [
    'dryRun',
    (more, { engine }) => engine.deleteConversations({ owner: 'o' }, more),
  ],
  'Engine.follow': ['leaseTtl', (more, { engine }) => engine.follow({ name: 'f', ...more }, nothing)],
  'Engine.openOrCreate': ['title', (more, { engine }) => engine.openOrCreate('new', more)],
  'Feed.feed': ['shard', (more, { store }) => store.feed(more)],
  'Grammar.reply': ['request', (more) => GRAMMARS[0]?.reply(reply, more)],
  'Grammar.stream': ['request', (more) => GRAMMARS[0]?.stream(more)],
  'Items.claimItems': ['limit', (more, { store }) => store.claimItems('jobs', { ttl: 1, ...more })],
  'Items.countItems': ['value', (more, { store }) => store.countItems('jobs', more)],
  'Items.listItems': ['descending', (more, { store }) => store.listItems('jobs', more)],
  'Store.append': ['expected', (more, { store }) => store.append('c', [pause], more)],
  'Store.count': ['kinds', (more, { store }) => store.count({ conversationId: 'c', ...more })],
  'Store.countConversations': ['titleContains', (more, { store }) => store.countConversations(more)],
  'Store.get': ['blobs', (more, { store }) => store.get('c', 'm', more)],
  'Store.getMany': ['blobs', (more, { store }) => store.getMany('c', ['m'], more)],
  'Store.listConversations': ['sandboxId', (more, { store }) => store.listConversations(more)],
  'Store.listLeases': ['expired', (more, { store }) => store.listLeases(more)],
  'Store.read': ['direction', (more, { store }) => store.read('c', more)],
  'Store.saveSnapshot': ['complete', (more, { store }) => store.saveSnapshot('c', [], more)],
  'Store.search': ['cursor', (more, { store }) => store.search({ conversationId: 'c', ...more })],
  'Store.updateConversation': ['expected', (more, { store }) => store.updateConversation('c', {}, more)],
  'TextSearch.searchText': [
    'includeResults',
    (more, { store }) => store.searchText({ query: 'deploy', ...more }),
  ],
  agUiEvents: [
    'details',
    (more, { conversation }) =>
      agUi.agUiEvents(conversation, { input: { threadId: 't', runId: 'r' }, ...more }),
  ],
  agUiResponse: [
    'details',
    (more, { conversation }) =>
      agUi.agUiResponse(conversation, { input: { threadId: 't', runId: 'r' }, ...more }),
  ],
  background: ['content', (more) => steps.background(Promise.resolve(''), more)],
  checkClaim: ['limit', (more) => kit.checkClaim('jobs', { ttl: 1, ...more })],
  checkConversationFilter: ['sandboxId', kit.checkConversationFilter],
  checkConversationQuery: ['sandboxId', kit.checkConversationQuery],
  checkCountOptions: ['exact', kit.checkCountOptions],
  checkEventFilter: ['kinds', (more) => kit.checkEventFilter({ conversationId: 'c', ...more })],
  checkEventQuery: ['kinds', (more) => kit.checkEventQuery({ conversationId: 'c', ...more })],
  checkFeedQuery: ['shard', kit.checkFeedQuery],
  checkGetOptions: ['blobs', kit.checkGetOptions],
  checkItemFilter: ['value', (more) => kit.checkItemFilter('jobs', more)],
  checkItemQuery: ['value', (more) => kit.checkItemQuery('jobs', more)],
  checkLeaseQuery: ['expired', kit.checkLeaseQuery],
  checkLog: ['grammars', (more) => checkLog([], more)],
  checkParts: ['complete', (more) => kit.checkParts([], more)],
  checkRange: ['start', (more) => kit.checkRange(more)],
  checkReadOptions: ['direction', kit.checkReadOptions],
  checkTextQuery: ['includeResults', (more) => kit.checkTextQuery({ query: 'deploy', ...more })],
  colloquySaver: ['serde', (more, { store }) => colloquySaver({ store, ...more })],
  colloquySession: ['conversation', (more, { conversation }) => colloquySession({ conversation, ...more })],
  createEngine: ['cacheBytes', (more, { store }) => createEngine({ store, ...more })],
  createService: ['maxRuns', (more, { engine }) => createService({ engine, ...more })],
  decideAppend: ['expected', (more) => kit.decideAppend(about, [pause], more)],
  driveServer: ['maxCommands', (more) => driveServer({ start: () => expect.fail('It started.'), ...more })],
  explain: ['budget', (more, { state }) => explain(state, 0, more)],
  findBlob: ['start', (more) => kit.findBlob([], '', more)],
  findings: ['secrets', (more, { state }) => findings(state, more)],
  fitToBudget: ['keepFirst', (more, { state }) => context.fitToBudget(state, () => 1, 1, more)],
  golden: ['update', (more) => testing.golden('count', [], subject, files, more)],
  legalLog: ['maxCommands', testing.legalLog],
  listen: ['upgrade', (more) => node.listen({ fetch: () => new Response(), port: 0, ...more })],
  mcpTools: [
    'trustHints',
    (more) => {
      const client = { listTools: async () => ({ tools: [] }), callTool: async () => ({}) }
      return steps.mcpTools(client, more)
    },
  ],
  memoryStore: ['fullText', memoryStore],
  observationMasking: ['keepLast', context.observationMasking],
  patchRecord: ['expected', (more) => kit.patchRecord(kit.newRecord({ id: 'c' }, 0n), {}, 0n, more)],
  planCondensation: ['maxEvents', (more, { state }) => context.planCondensation(state, more)],
  postgresStore: ['schema', (more) => postgresStore({ url: 'postgres://localhost/none', ...more })],
  processSandboxes: ['givesFiles', (more) => node.processSandboxes({ directory: 'none', ...more })],
  readSession: ['from', (more) => readSession([], more)],
  receiveUIMessages: [
    'pageTools',
    (more, { conversation }) => aiSdk.receiveUIMessages(conversation, { messages: [] }, more),
  ],
  redactLog: ['conversationId', (more) => redactLog([], redactionRules(), more)],
  redactionRules: ['patterns', redactionRules],
  replayTest: ['numRuns', (more) => testing.replayTest([], subject, more)],
  resumeTranscript: ['marker', (more, { state }) => context.resumeTranscript(state, more)],
  rollingCondenser: ['retries', (more) => context.rollingCondenser({ summarise: async () => '', ...more })],
  scheduled: ['onCall', (more) => testing.scheduled({}, nothing, more)],
  scriptedModel: ['maxTurns', scriptedModel],
  serve: ['host', (more, { store }) => node.serve({ store, port: 0, ...more })],
  sessionStore: ['store', (more, { store }) => sessionStore({ store, ...more })],
  shellHook: ['timeout', (more) => shellHook({ on: 'Stop', command: 'true', ...more })],
  sqliteStore: ['readOnly', (more) => sqliteStore({ file: ':memory:', ...more })],
  storeConformance: [
    'parts',
    (more) => testing.storeConformance({ name: 's', open: async () => memoryStore(), ...more }),
  ],
  stuckDetector: ['monologue', context.stuckDetector],
  subagent: ['maxDepth', (more) => steps.subagent({ name: 'a', description: '', step: () => [], ...more })],
  textContent: ['start', (more) => kit.textContent(large, more)],
  toAtif: ['version', (more, { state }) => toAtif(state, more)],
  toSpans: ['service', (more, { state }) => toSpans(state, more)],
  toTimeline: ['progress', (more, { state }) => messages.toTimeline(state, more)],
  toUIMessages: ['pageTools', (more, { state }) => aiSdk.toUIMessages(state, more)],
  uiMessageResponse: ['until', (more, { conversation }) => aiSdk.uiMessageResponse(conversation, more)],
  uiMessageStream: ['until', (more, { conversation }) => aiSdk.uiMessageStream(conversation, more)],
  usageTotals: ['from', (more, { state }) => context.usageTotals(state, more)],
  verifyWebhook: ['tolerance', (more) => verifyWebhook('a secret of the two', {}, '', more)],
}

/** Options within options, and of data that a store keeps. */
const MORE: readonly (readonly [name: string, ...Row])[] = [
  ['run', 'leaseTtl', (more, { engine }) => createService({ engine, run: more })],
  ['live', 'maxTotal', (more, { engine }) => createService({ engine, live: more })],
  ['controlPlane', 'staleAfter', (more, { engine }) => createService({ engine, controlPlane: more })],
  ['webhookDispatcher', 'leaseTtl', (more, { engine }) => createService({ engine, webhookDispatcher: more })],
  [
    'webhooks',
    'timeout',
    (more, { engine }) => {
      const webhook = { url: 'http://localhost/', secret: 'a secret of the two', ...more }
      return createService({ engine, webhooks: [webhook] })
    },
  ],
  ['a count of conversations', 'exact', (more, { store }) => store.countConversations({}, more)],
  ['a count of items', 'exact', (more, { store }) => store.countItems('jobs', {}, more)],
  [
    'a change of an item',
    'expected',
    (more, { store }) => store.changeItems([{ collection: 'jobs', id: 'a', ...more }]),
  ],
  [
    'a new item',
    'dueIn',
    (more, { store }) => store.changeItems([{ collection: 'jobs', id: 'a', put: { body: {}, ...more } }]),
  ],
  ['a patch', 'metadata', (more, { store }) => store.updateConversation('c', more)],
  ['a new conversation', 'title', (more, { store }) => store.createConversation({ id: 'd', ...more })],
]

/** Why published functions with options do not check them. */
const EXCEPTIONS: readonly (readonly [RegExp, string])[] = [
  [/^\w+Step$/, 'unknown options go to the provider'],
  [/^\w+Client\.|^RunCondenser\.|^RequestCache\.|\.streamText$/, 'others implement it'],
  [/^refuseWithin$/, 'it reads one option of an append'],
  [
    /^to(?!Atif|Spans|Timeline|UIMessages)\w+$|^Grammar\.write$|^Conversation\.messages$/,
    'bundles have a limit',
  ],
  [/^(?:initialState|replay)$/, 'bundles have a limit'],
  [/^Grammar\.rules$/, 'it checks a request, and only `system` matters'],
  [/^serverConformance$/, 'a server with more methods, such as of `serve`, can be the options'],
]

const API = readFileSync(resolve(import.meta.dirname, 'api.txt'), 'utf8')
const FUNCTION = /^export declare (?:function |const )(\w+)(?:: )?(?:<[^(]*>)?(?=\()/g
const OWNER = /^export (?:declare class|interface) (\w+)/
const METHOD = /^    (?:readonly )?(?!constructor)(\w+)\??(?:: )?(?:<[^(]*>)?(?=\()/gm
const OPTIONS =
  /\b(?!Checked)[A-Z]\w*(?:Options|Query|Filter|Limits|Claim|Range|Length)\b|\boptions\??: |\}\??: \{/

/** The parameters of a function, from their opening parenthesis on. */
function parametersIn(text: string): string {
  let depth = 0
  for (const { index, 0: parenthesis } of text.matchAll(/[()]/g)) {
    depth += parenthesis === '(' ? 1 : -1
    if (depth === 0) return text.slice(0, index)
  }
  return text
}

/** Published functions and methods that accept options. */
function functionsWithOptions(): string[] {
  const [names = '', ...files] = API.split(/^### .*$/m)
  const published = new Set(names.split('\n'))
  return files
    .flatMap((file) => file.trim().split(/\n(?=[a-z])/))
    .flatMap((text) => {
      const owner = OWNER.exec(text)?.[1]
      return Array.from(text.matchAll(owner === undefined ? FUNCTION : METHOD))
        .filter(({ index, 0: head }) => OPTIONS.test(parametersIn(text.slice(index + head.length))))
        .filter(([, name = '']) => published.has(owner ?? name))
        .map(([, name = '']) => (owner === undefined ? name : `${owner}.${name}`))
    })
}

it('lists every published function with options', () => {
  const checked = functionsWithOptions().filter((name) => !EXCEPTIONS.some(([pattern]) => pattern.test(name)))
  expect(Object.keys(CALLS).toSorted()).toEqual([...new Set(checked)].toSorted())
})

const STORES: Readonly<Record<string, () => Store>> = {
  memory: () => memoryStore({ fullText: true }),
  sqlite: () => sqliteStore({ file: ':memory:', fullText: true }),
}
const CASES = Object.keys(STORES)
  .flatMap((store) =>
    Object.entries(CALLS)
      // The other functions use no store, or any.
      .filter(([name]) => store === 'memory' || /^(?:Blobs|Feed|Items|Store|TextSearch)\./.test(name))
      .map(([name, row]) => [name, store, ...row] as const),
  )
  .concat(MORE.map(([name, ...row]) => [name, 'memory', ...row] as const))
const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

async function worldOver(store: Store): Promise<World> {
  const engine = createEngine({ store })
  cleanUps.push(() => engine.close().then(() => store.close()))
  const conversation = await engine.create({ id: 'c' })
  await conversation.sendMessage('Hi')
  return { store, engine, conversation, state: await conversation.state() }
}

it.each(CASES)('%s over %s refuses a misspelling of %s', async (_, name, option, call) => {
  const world = await worldOver(STORES[name]?.() as Store)
  const misspelt = `${option.slice(0, -1)}Q`
  const attempt = async (): Promise<unknown> => call({ [misspelt]: 'x' }, world)
  await expect(attempt()).rejects.toMatchObject({
    code: 'invalid_argument',
    message: `Unknown option "${misspelt}". Did you mean ${option}?`,
    data: { field: misspelt },
  })
})

it.each([
  ['parentId', 'parentConversationId'],
  ['tag', 'tags'],
  ['titleContain', 'titleContains'],
  ['Limit', 'limit'],
])('names the nearest of several options for %s', async (option, meant) => {
  const attempt = async (): Promise<unknown> => memoryStore().listConversations({ [option]: 'x' })
  await expect(attempt()).rejects.toThrow(`Unknown option "${option}". Did you mean ${meant}?`)
})

it.each(['page_id', 'next_page_id', 'before', 'x', 'pageToken', 'filter', 'q'.repeat(50)])(
  'lists the options if %s resembles none',
  async (option) => {
    const attempt = async (): Promise<unknown> => memoryStore().search({ conversationId: 'c', [option]: 'x' })
    await expect(attempt()).rejects.toThrow(/\. Use one of conversationId, .*\bcursor\b.*\.$/)
  },
)

it('names no option at length', async () => {
  const long = 'x'.repeat(1e6)
  const attempt = async (): Promise<unknown> => memoryStore().listConversations({ [long]: 1 })
  await expect(attempt()).rejects.toMatchObject({ data: { field: long.slice(0, 40) } })
})
