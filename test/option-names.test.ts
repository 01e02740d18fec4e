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
import { readSession, SESSION_FORMATS, toAtif, toSpans } from '../src/sessions/index.ts'
import * as steps from '../src/steps/index.ts'
import * as kit from '../src/store/kit/index.ts'
import { postgresStore } from '../src/store/postgres/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import * as testing from '../src/testing/index.ts'
import { driveServer, scriptedModel } from '../src/testing/server/index.ts'
import { says } from './conversation/script.ts'

interface Fixture {
  readonly store: Store
  readonly engine: Engine
  readonly conversation: Conversation
  readonly state: State
}

/** A known option, which the test misspells, and a call with additional options. */
type Row = readonly [option: string, call: (extra: object, fixture: Fixture) => unknown]

const reply = { id: 'r', content: [] }
const subject = { initial: 0, reduce: (count: number) => count + 1 }
const files = { read: () => null, write: () => undefined }
const appendContext = {
  conversationId: 'c',
  createdAt: '',
  timeZone: null,
  tip: kit.EMPTY_TIP,
  lease: null,
  find: () => undefined,
  at: () => expect.fail('The log is empty.'),
}
const large = { path: [], hash: '', bytes: 0, text: '' }
const noop = async (): Promise<void> => undefined
const pause = { kind: 'PauseEvent', id: 'p' } as const

/** The readers of whole replies and of streams, of all grammars. */
const READERS: Readonly<Record<string, Row>> = Object.fromEntries(
  Object.entries(messages).flatMap(([name, call]): [string, Row][] => {
    const read = call as (...args: unknown[]) => unknown
    if (name.startsWith('collect')) return [[name, ['request', (extra) => read(extra)]]]
    return name.startsWith('from') ? [[name, ['request', (extra) => read(reply, extra)]]] : []
  }),
)

const CALLS: Readonly<Record<string, Row>> = {
  ...READERS,
  'Blobs.readBlob': ['start', (extra, { store }) => store.readBlob('c', 'a'.repeat(64), extra)],
  'Condenser.condense': [
    'signal',
    (extra, { state }) =>
      context.rollingCondenser({ summarise: async () => '', maxEvents: 8 }).condense(state, extra),
  ],
  'Conversation.append': ['expected', (extra, { conversation }) => conversation.append(pause, extra)],
  'Conversation.fork': ['metadata', (extra, { conversation }) => conversation.fork(extra)],
  'Conversation.interrupt': ['working', (extra, { conversation }) => conversation.interrupt(extra)],
  'Conversation.recover': ['unheld', (extra, { conversation }) => conversation.recover(extra)],
  'Conversation.run': ['leaseTtl', (extra, { conversation }) => conversation.run(() => [says('Hi')], extra)],
  'Conversation.search': ['timestampGte', (extra, { conversation }) => conversation.search(extra)],
  'Conversation.sendMessage': ['sender', (extra, { conversation }) => conversation.sendMessage('Hi', extra)],
  'Conversation.subscribe': ['after', (extra, { conversation }) => conversation.subscribe(extra).next()],
  'Conversation.subscribeTree': [
    'signal',
    (extra, { conversation }) => conversation.subscribeTree(extra).next(),
  ],
  'Conversation.waitFor': ['signal', (extra, { conversation }) => conversation.waitFor('idle', extra)],
  'Engine.applyRetention': [
    'olderThan',
    (extra, { engine }) => engine.applyRetention({ keepLast: 1, ...extra }),
  ],
  'Engine.create': ['title', (extra, { engine }) => engine.create(extra)],
  'Engine.deleteConversations': [
    'dryRun',
    (extra, { engine }) => engine.deleteConversations({ owner: 'o' }, extra),
  ],
  'Engine.follow': ['leaseTtl', (extra, { engine }) => engine.follow({ name: 'f', ...extra }, noop)],
  'Engine.openOrCreate': ['title', (extra, { engine }) => engine.openOrCreate('new', extra)],
  'Feed.feed': ['shard', (extra, { store }) => store.feed(extra)],
  'Grammar.reply': ['request', (extra) => GRAMMARS[0]?.reply(reply, extra)],
  'Grammar.stream': ['request', (extra) => GRAMMARS[0]?.stream(extra)],
  'Items.claimItems': ['limit', (extra, { store }) => store.claimItems('jobs', { ttl: 1, ...extra })],
  'Items.countItems': ['value', (extra, { store }) => store.countItems('jobs', extra)],
  'Items.listItems': ['descending', (extra, { store }) => store.listItems('jobs', extra)],
  'Store.append': ['expected', (extra, { store }) => store.append('c', [pause], extra)],
  'Store.count': ['kinds', (extra, { store }) => store.count({ conversationId: 'c', ...extra })],
  'Store.countConversations': ['titleContains', (extra, { store }) => store.countConversations(extra)],
  'Store.get': ['blobs', (extra, { store }) => store.get('c', 'm', extra)],
  'Store.getMany': ['blobs', (extra, { store }) => store.getMany('c', ['m'], extra)],
  'Store.listConversations': ['sandboxId', (extra, { store }) => store.listConversations(extra)],
  'Store.listLeases': ['expired', (extra, { store }) => store.listLeases(extra)],
  'Store.read': ['direction', (extra, { store }) => store.read('c', extra)],
  'Store.saveSnapshot': ['complete', (extra, { store }) => store.saveSnapshot('c', [], extra)],
  'Store.search': ['cursor', (extra, { store }) => store.search({ conversationId: 'c', ...extra })],
  'Store.updateConversation': ['expected', (extra, { store }) => store.updateConversation('c', {}, extra)],
  'TextSearch.searchText': [
    'includeResults',
    (extra, { store }) => store.searchText({ query: 'deploy', ...extra }),
  ],
  agUiEvents: [
    'details',
    (extra, { conversation }) =>
      agUi.agUiEvents(conversation, { input: { threadId: 't', runId: 'r' }, ...extra }),
  ],
  agUiResponse: [
    'details',
    (extra, { conversation }) =>
      agUi.agUiResponse(conversation, { input: { threadId: 't', runId: 'r' }, ...extra }),
  ],
  background: ['content', (extra) => steps.background(Promise.resolve(''), extra)],
  checkClaim: ['limit', (extra) => kit.checkClaim('jobs', { ttl: 1, ...extra })],
  checkConversationFilter: ['sandboxId', kit.checkConversationFilter],
  checkConversationQuery: ['sandboxId', kit.checkConversationQuery],
  checkCountOptions: ['exact', kit.checkCountOptions],
  checkEventFilter: ['kinds', (extra) => kit.checkEventFilter({ conversationId: 'c', ...extra })],
  checkEventQuery: ['kinds', (extra) => kit.checkEventQuery({ conversationId: 'c', ...extra })],
  checkFeedQuery: ['shard', kit.checkFeedQuery],
  checkGetOptions: ['blobs', kit.checkGetOptions],
  checkItemFilter: ['value', (extra) => kit.checkItemFilter('jobs', extra)],
  checkItemQuery: ['value', (extra) => kit.checkItemQuery('jobs', extra)],
  checkLeaseQuery: ['expired', kit.checkLeaseQuery],
  checkLog: ['grammars', (extra) => checkLog([], extra)],
  checkParts: ['complete', (extra) => kit.checkParts([], extra)],
  checkRange: ['start', (extra) => kit.checkRange(extra)],
  checkReadOptions: ['direction', kit.checkReadOptions],
  checkTextQuery: ['includeResults', (extra) => kit.checkTextQuery({ query: 'deploy', ...extra })],
  colloquySaver: ['serde', (extra, { store }) => colloquySaver({ store, ...extra })],
  colloquySession: ['conversation', (extra, { conversation }) => colloquySession({ conversation, ...extra })],
  createEngine: ['cacheBytes', (extra, { store }) => createEngine({ store, ...extra })],
  createService: ['maxRuns', (extra, { engine }) => createService({ engine, ...extra })],
  decideAppend: ['expected', (extra) => kit.decideAppend(appendContext, [pause], extra)],
  driveServer: ['maxCommands', (extra) => driveServer({ start: () => expect.fail('It started.'), ...extra })],
  explain: ['budget', (extra, { state }) => explain(state, 0, extra)],
  findBlob: ['start', (extra) => kit.findBlob([], '', extra)],
  findings: ['secrets', (extra, { state }) => findings(state, extra)],
  fitToBudget: ['keepFirst', (extra, { state }) => context.fitToBudget(state, () => 1, 1, extra)],
  golden: ['update', (extra) => testing.golden('count', [], subject, files, extra)],
  legalLog: ['maxCommands', testing.legalLog],
  listen: ['upgrade', (extra) => node.listen({ fetch: () => new Response(), port: 0, ...extra })],
  mcpTools: [
    'trustHints',
    (extra) => {
      const client = { listTools: async () => ({ tools: [] }), callTool: async () => ({}) }
      return steps.mcpTools(client, extra)
    },
  ],
  memoryStore: ['fullText', memoryStore],
  observationMasking: ['keepLast', context.observationMasking],
  patchRecord: ['expected', (extra) => kit.patchRecord(kit.newRecord({ id: 'c' }, 0n), {}, 0n, extra)],
  planCondensation: ['maxEvents', (extra, { state }) => context.planCondensation(state, extra)],
  postgresStore: ['schema', (extra) => postgresStore({ url: 'postgres://localhost/none', ...extra })],
  processSandboxes: ['givesFiles', (extra) => node.processSandboxes({ directory: 'none', ...extra })],
  readSession: ['from', (extra) => readSession([], extra)],
  receiveUIMessages: [
    'pageTools',
    (extra, { conversation }) => aiSdk.receiveUIMessages(conversation, { messages: [] }, extra),
  ],
  redactLog: ['conversationId', (extra) => redactLog([], redactionRules(), extra)],
  redactionRules: ['patterns', redactionRules],
  replayTest: ['numRuns', (extra) => testing.replayTest([], subject, extra)],
  resumeTranscript: ['marker', (extra, { state }) => context.resumeTranscript(state, extra)],
  rollingCondenser: ['retries', (extra) => context.rollingCondenser({ summarise: async () => '', ...extra })],
  scheduled: ['onCall', (extra) => testing.scheduled({}, noop, extra)],
  scriptedModel: ['maxTurns', scriptedModel],
  serve: ['host', (extra, { store }) => node.serve({ store, port: 0, ...extra })],
  sessionStore: ['store', (extra, { store }) => sessionStore({ store, ...extra })],
  shellHook: ['timeout', (extra) => shellHook({ on: 'Stop', command: 'true', ...extra })],
  sqliteStore: ['readOnly', (extra) => sqliteStore({ file: ':memory:', ...extra })],
  storeConformance: [
    'parts',
    (extra) => testing.storeConformance({ name: 's', open: async () => memoryStore(), ...extra }),
  ],
  stuckDetector: ['monologue', context.stuckDetector],
  subagent: ['maxDepth', (extra) => steps.subagent({ name: 'a', description: '', step: () => [], ...extra })],
  textContent: ['start', (extra) => kit.textContent(large, extra)],
  toAtif: ['version', (extra, { state }) => toAtif(state, extra)],
  toSpans: ['service', (extra, { state }) => toSpans(state, extra)],
  toTimeline: ['progress', (extra, { state }) => messages.toTimeline(state, extra)],
  toUIMessages: ['pageTools', (extra, { state }) => aiSdk.toUIMessages(state, extra)],
  uiMessageResponse: ['until', (extra, { conversation }) => aiSdk.uiMessageResponse(conversation, extra)],
  uiMessageStream: ['until', (extra, { conversation }) => aiSdk.uiMessageStream(conversation, extra)],
  usageTotals: ['from', (extra, { state }) => context.usageTotals(state, extra)],
  verifyWebhook: ['tolerance', (extra) => verifyWebhook('a secret of the two', {}, '', extra)],
}

/** Nested options, and fields of stored data. */
const NESTED: readonly (readonly [name: string, ...Row])[] = [
  ['run', 'leaseTtl', (extra, { engine }) => createService({ engine, run: extra })],
  ['live', 'maxTotal', (extra, { engine }) => createService({ engine, live: extra })],
  ['controlPlane', 'staleAfter', (extra, { engine }) => createService({ engine, controlPlane: extra })],
  [
    'webhookDispatcher',
    'leaseTtl',
    (extra, { engine }) => createService({ engine, webhookDispatcher: extra }),
  ],
  [
    'webhooks',
    'timeout',
    (extra, { engine }) => {
      const webhook = { url: 'http://localhost/', secret: 'a secret of the two', ...extra }
      return createService({ engine, webhooks: [webhook] })
    },
  ],
  ['a count of conversations', 'exact', (extra, { store }) => store.countConversations({}, extra)],
  ['a count of items', 'exact', (extra, { store }) => store.countItems('jobs', {}, extra)],
  [
    'a change of an item',
    'expected',
    (extra, { store }) => store.changeItems([{ collection: 'jobs', id: 'a', ...extra }]),
  ],
  [
    'a new item',
    'dueIn',
    (extra, { store }) => store.changeItems([{ collection: 'jobs', id: 'a', put: { body: {}, ...extra } }]),
  ],
  ['a patch', 'metadata', (extra, { store }) => store.updateConversation('c', extra)],
  ['a new conversation', 'title', (extra, { store }) => store.createConversation({ id: 'd', ...extra })],
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

it('`CALLS` has every published function that checks its options', () => {
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
      // The other functions behave the same over all stores.
      .filter(([name]) => store === 'memory' || /^(?:Blobs|Feed|Items|Store|TextSearch)\./.test(name))
      .map(([name, row]) => [name, store, ...row] as const),
  )
  .concat(NESTED.map(([name, ...row]) => [name, 'memory', ...row] as const))
const cleanUps: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
})

async function fixtureOver(store: Store): Promise<Fixture> {
  const engine = createEngine({ store })
  cleanUps.push(() => engine.close().then(() => store.close()))
  const conversation = await engine.create({ id: 'c' })
  await conversation.sendMessage('Hi')
  return { store, engine, conversation, state: await conversation.state() }
}

it.each(CASES)('%s over %s rejects a misspelling of %s', async (_, name, option, call) => {
  const fixture = await fixtureOver(STORES[name]?.() as Store)
  const misspelt = `${option.slice(0, -1)}Q`
  const attempt = async (): Promise<unknown> => call({ [misspelt]: 'x' }, fixture)
  await expect(attempt()).rejects.toMatchObject({
    code: 'invalid_argument',
    message: `Unknown option "${misspelt}". Did you mean ${option}?`,
    data: { field: misspelt },
  })
})

it.each(CASES)('%s over %s rejects a controller as `signal`', async (_, name, __, call) => {
  const fixture = await fixtureOver(STORES[name]?.() as Store)
  const attempt = async (): Promise<unknown> => call({ signal: new AbortController() }, fixture)
  await expect(attempt()).rejects.toMatchObject({ code: 'invalid_argument', data: { field: 'signal' } })
})

it.each<readonly [string, (fixture: Fixture) => unknown, string]>([
  [
    'shareReplies',
    ({ store }) => createEngine({ store, shareReplies: 'false' as never }),
    '`shareReplies` must be true or false.',
  ],
  [
    'facts of the memory store',
    ({ store }) => store.append('c', pause as never),
    '`facts` must be a list of events and quarantined lines.',
  ],
  [
    'facts of the SQLite store',
    async () => {
      const store = sqliteStore({ file: ':memory:' })
      cleanUps.push(() => store.close())
      await store.createConversation({ id: 'c' })
      await store.append('c', pause as never)
    },
    '`facts` must be a list of events and quarantined lines.',
  ],
  [
    'maxTokens',
    () => context.rollingCondenser({ summarise: async () => '', maxTokens: '100' as never }),
    '`maxTokens` must be a number of 1 or more, not "100".',
  ],
  [
    'maxEvents',
    () => context.rollingCondenser({ summarise: async () => '', maxEvents: '240' as never }),
    '`maxEvents` must be an integer of 1 or more, not "240".',
  ],
  [
    'keys',
    ({ engine }) => createService({ engine, keys: 'k1' as never }),
    '`keys` must contain only non-blank strings.',
  ],
  [
    'from of readSession',
    () => readSession([], { from: 'openai' as never }),
    `\`from\` must be one of ${SESSION_FORMATS.join(', ')}.`,
  ],
  [
    'grammars of checkLog',
    () => checkLog([], { grammars: ['claude' as never] }),
    `Unknown grammar "claude". Use one of ${GRAMMARS.map(({ name }) => name).join(', ')}.`,
  ],
  [
    'grammars of findings',
    ({ state }) => findings(state, { grammars: ['claude' as never] }),
    `Unknown grammar "claude". Use one of ${GRAMMARS.map(({ name }) => name).join(', ')}.`,
  ],
])('a value of another type as %s is rejected', async (_, call, message) => {
  const fixture = await fixtureOver(memoryStore())
  const attempt = async (): Promise<unknown> => call(fixture)
  await expect(attempt()).rejects.toMatchObject({ code: 'invalid_argument', message })
})

it.each([
  ['parentId', 'parentConversationId'],
  ['tag', 'tags'],
  ['titleContain', 'titleContains'],
  ['Limit', 'limit'],
  ['ilmit', 'limit'],
])('the error for %s suggests the option %s', async (option, expected) => {
  const attempt = async (): Promise<unknown> => memoryStore().listConversations({ [option]: 'x' })
  await expect(attempt()).rejects.toThrow(`Unknown option "${option}". Did you mean ${expected}?`)
})

it.each(['page_id', 'next_page_id', 'before', 'x', 'pageToken', 'filter', 'q'.repeat(50)])(
  'the error for %s, which resembles no option, lists the options',
  async (option) => {
    const attempt = async (): Promise<unknown> => memoryStore().search({ conversationId: 'c', [option]: 'x' })
    await expect(attempt()).rejects.toThrow(/\. Use one of conversationId, .*\bcursor\b.*\.$/)
  },
)

it('the error for a long option contains its first 40 characters', async () => {
  const long = 'x'.repeat(1e6)
  const attempt = async (): Promise<unknown> => memoryStore().listConversations({ [long]: 1 })
  await expect(attempt()).rejects.toMatchObject({ data: { field: long.slice(0, 40) } })
})
