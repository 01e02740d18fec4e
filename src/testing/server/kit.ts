import { parseInstant } from '../../event/time.ts'
import type { Event } from '../../event/types.ts'
import { checkLog } from '../../laws/check-log.ts'
import { GRAMMARS } from '../../messages/grammars.ts'
import { describeFailure, hold, kitCase, LawBroken, same, skipReasons } from '../failure.ts'
import type { EventFilterQuery, Query, Received, ServerClientOptions, ServerPage } from './client.ts'
import { bodyOf, serverClient, serverPages } from './client.ts'
import { caughtUp, LIVE, received } from './live-cases.ts'
import {
  callsIn,
  CONFIRMATION,
  holdPaired,
  holdPrefixes,
  nextWaits,
  resultsOf,
  RUNS,
  STOPS,
} from './run-cases.ts'
import { textOf } from './script.ts'
import type { Capability, ServerCheck, ServerConformanceOptions } from './trial.ts'
import { holdRefusal, it, RESTING, test, Trial } from './trial.ts'

async function filled(trial: Trial): Promise<{ readonly id: string; readonly log: readonly Event[] }> {
  const id = await trial.begin()
  for (let index = 0; index < 6; index += 1) await trial.say(id, [], false)
  const calls = [trial.note('one'), trial.note('two')]
  await trial.play(id, [{ says: calls }, { says: [trial.note('three')] }, { says: ['Done.'] }])
  return { id, log: await trial.log(id) }
}

const idsOf = (events: readonly Event[]): (string | undefined)[] => events.map(({ id }) => id)

const instantOf = ({ timestamp = '' }: Event): bigint => parseInstant(timestamp) ?? 0n

const inOtherZone = (timestamp: string): string => {
  const micros = parseInstant(timestamp) ?? 0n
  const date = new Date(Number(micros / 1_000n) + 7_200_000).toISOString()
  return `${date.slice(0, 19)}.${String(micros % 1_000_000n).padStart(6, '0')}+02:00`
}

const fits = (event: Event, { kind, source, timestamp__gte: from, timestamp__lt: to }: EventFilterQuery) =>
  (kind === undefined || event.kind === kind) &&
  (source === undefined || event.source === source) &&
  (from === undefined || instantOf(event) >= (parseInstant(from) ?? 0n)) &&
  (to === undefined || instantOf(event) < (parseInstant(to) ?? 0n))

function filtersFor(log: readonly Event[]): EventFilterQuery[] {
  const times = [0, 3, Math.floor(log.length / 2), log.length - 1].map((index) => log[index]?.timestamp ?? '')
  const [first = '', early = '', middle = ''] = times
  return [
    {},
    ...(['MessageEvent', 'ActionEvent', 'ObservationEvent', 'TokenEvent'] as const).map((kind) => ({ kind })),
    ...(['user', 'agent', 'environment', 'hook'] as const).map((source) => ({ source })),
    ...times.flatMap((time) => [{ timestamp__gte: time }, { timestamp__lt: time }]),
    { timestamp__gte: inOtherZone(middle) },
    { timestamp__lt: inOtherZone(middle) },
    { timestamp__gte: early, timestamp__lt: middle },
    { timestamp__gte: middle, timestamp__lt: first },
    { kind: 'MessageEvent', source: 'user', timestamp__gte: early },
  ]
}

/** Checks that all pages except the last are full, and that paging ends. */
async function inPages(
  law: string,
  limit: number,
  read: (page: { page_id?: string | null; limit: number }) => Promise<Received<ServerPage>>,
  write: (seen: number) => Promise<unknown> = async () => undefined,
): Promise<Event[]> {
  const seen: Event[] = []
  const sizes: number[] = []
  for await (const items of serverPages((page_id) => read({ page_id: page_id ?? null, limit }))) {
    seen.push(...items)
    sizes.push(items.length)
    hold('C1', sizes.length <= 1_000, 'paging does not end')
    await write(seen.length)
  }
  const isFull = sizes.every((size, index) => size === limit || index === sizes.length - 1)
  const hasRest = sizes.length === 1 || sizes.at(-1) !== 0
  hold(law, isFull && hasRest, `with limit ${limit}, pages have ${sizes.join(', ')} events`)
  return seen
}

const PAGES: readonly ServerCheck[] = [
  test('W1 search and count filter by kind, source and time; the lower bound is inclusive, the upper exclusive', async (trial) => {
    const { id, log } = await filled(trial)
    for (const query of filtersFor(log)) {
      const wanted = log.filter((event) => fits(event, query))
      const result = await trial.client.events(id, query)
      same('W1', `events of ${JSON.stringify(query)}`, idsOf(result), idsOf(wanted))
      const count = bodyOf(await trial.client.count(id, query))
      same('W1', `the count of ${JSON.stringify(query)}`, count, wanted.length)
    }
  }),
  test('C3 events are ordered by time, and descending order is the exact reverse', async (trial) => {
    const { id, log } = await filled(trial)
    const sorted = log.every(
      (event, index) => index === 0 || instantOf(log[index - 1] as Event) <= instantOf(event),
    )
    hold('C3', sorted, 'the events are not ordered by time')
    for (const limit of [100, 3]) {
      const down = await trial.client.events(id, { sort_order: 'TIMESTAMP_DESC', limit })
      same('C3', `events in descending order, limit ${limit}`, idsOf(down), idsOf(log.toReversed()))
    }
    const up = await trial.client.events(id, { sort_order: 'TIMESTAMP' })
    same('C3', 'events in the default order', idsOf(log), idsOf(up))
  }),
  test('C1 pages of any size contain each event once; all but the last are full, and the last has no next page', async (trial) => {
    const { id, log } = await filled(trial)
    for (const query of [{}, { source: 'user' as const }]) {
      const wanted = log.filter((event) => fits(event, query))
      for (const limit of [1, 2, 5, wanted.length - 1, wanted.length, wanted.length + 1]) {
        const seen = await inPages('C1', limit, (page) => trial.client.search(id, { ...query, ...page }))
        same('C1', `events in pages with limit ${limit}`, idsOf(seen), idsOf(wanted))
      }
    }
    same('C1', 'events of an absent kind', await trial.client.events(id, { kind: 'TokenEvent' }), [])
  }),
  test('C2 appends between two pages do not repeat or skip an event', async (trial) => {
    for (const sort_order of ['TIMESTAMP', 'TIMESTAMP_DESC'] as const) {
      const { id, log } = await filled(trial)
      const seen = await inPages(
        'C2',
        4,
        (page) => trial.client.search(id, { sort_order, ...page }),
        async (count) => count < log.length && trial.say(id, [], false),
      )
      const known = new Set(idsOf(log))
      const old = seen.filter((event) => known.has(event.id))
      const wanted = sort_order === 'TIMESTAMP' ? log : log.toReversed()
      same('C2', `earlier events, ${sort_order}`, idsOf(old), idsOf(wanted))
      hold('C2', new Set(idsOf(seen)).size === seen.length, 'an event is repeated')
    }
  }),
  test('W1 an event read by its id equals the event in a search', async (trial) => {
    const { id, log } = await filled(trial)
    for (const event of log.slice(0, 4))
      same('W1', 'the event', bodyOf(await trial.client.event(id, event.id ?? '')), event)
  }),
]

const TREE: readonly ServerCheck[] = [
  it('T8 T4 [navigation] after a move of HEAD, the conversation continues there, and the model does not receive the other branch', async (trial, id) => {
    await trial.play(id, [{ says: ['Reply one.'] }])
    const position = bodyOf(await trial.client.get(id)).leaf_event_id ?? ''
    await trial.play(id, [{ says: ['Reply two, of the other branch.'] }])
    const moved = (await trial.accepted(() => trial.client.navigate(id, position))).leaf_event_id
    same('T2', 'HEAD', moved, position)
    const output = await trial.say(id, [{ says: ['Reply three.'] }], false)
    const next = (await trial.log(id)).find((event) => event.id === output)?.parent_id
    same('T8', 'the parent of the next message', next, position)
    await trial.accepted(() => trial.client.run(id))
    await trial.rest(id)
    same('T4', 'the last reply', (await trial.replies(id)).at(-1), 'Reply three.')
    const sent = (await trial.requests(id)).at(-1)?.map(({ content }) => textOf(content)) ?? []
    const other = sent.some((text) => text === 'Reply two, of the other branch.')
    hold('T4', !other, 'the model receives the other branch')
    holdRefusal(await trial.client.navigate(id, 'unheard-of'), 404, 'moving HEAD to an unknown event')
  }),
  it('W1 [navigation] moving HEAD is rejected while the conversation runs', async (trial, id) => {
    await trial.say(id, [{ says: ['Slowly.'], wait: 500 }])
    await trial.running(id)
    holdRefusal(await trial.client.navigate(id, null), 409, 'moving HEAD during a run')
    await trial.rest(id)
  }),
  it('T4 [fork] a fork contains only the path to its event, and its messages do not appear in the original', async (trial, id) => {
    await trial.play(id, [{ says: ['Reply one.'] }])
    const from_event_id = bodyOf(await trial.client.get(id)).leaf_event_id ?? ''
    await trial.play(id, [{ says: ['Reply two.'] }])
    const before = await trial.log(id)
    const fork = bodyOf(await trial.client.fork(id, { from_event_id }))
    trial.conversations.push(fork.id)
    hold('T4', fork.id !== id, 'the fork has the id of its source')
    same('T4', 'replies in the fork', await trial.replies(fork.id), ['Reply one.'])
    await trial.play(fork.id, [{ says: ['In the fork.'] }])
    same('T4', 'replies in the fork', await trial.replies(fork.id), ['Reply one.', 'In the fork.'])
    same('T4', 'the log of the source', await trial.log(id), before)
    const refusal = await trial.client.fork(id, { from_event_id: 'unheard-of' })
    holdRefusal(refusal, 404, 'a fork at an unknown event')
  }),
]

const withoutKey = ({ url, fetch }: ServerClientOptions): ServerClientOptions => ({
  url,
  ...(fetch && { fetch }),
})

const INVALID: readonly Readonly<Record<string, string>>[] = [
  ...['0', '-1', '101', 'ten', '', '1.5'].map((limit) => ({ limit })),
  { kind: 'Message' },
  { kind: 'messageevent' },
  { source: 'moon' },
  { sort_order: 'KIND' },
  { sort_order: 'timestamp' },
  ...['yesterday', '', '2026-02-30T00:00:00Z'].flatMap((time) => [
    { timestamp__gte: time },
    { timestamp__lt: time },
  ]),
]

const REFUSALS: readonly ServerCheck[] = [
  it('W1 an invalid search is rejected with the field and the reason; limits of 1 and 100 are accepted', async (trial, id) => {
    const path = `/api/conversations/${encodeURIComponent(id)}/events/search`
    for (const query of INVALID) {
      const refusal = await trial.client.send('GET', path, { query })
      holdRefusal(refusal, 422, `a search by ${JSON.stringify(query)}`)
    }
    for (const limit of [1, 100]) bodyOf(await trial.client.search(id, { limit }))
  }),
  test('C4 a page id that was altered, or belongs to another query, is rejected', async (trial) => {
    const { id } = await filled(trial)
    const { id: other } = await filled(trial)
    const { next_page_id } = bodyOf(await trial.client.search(id, { limit: 2 }))
    const page_id = next_page_id ?? ''
    const middle = Math.floor(page_id.length / 2)
    const changed = `${page_id.slice(0, middle)}${page_id[middle] === '1' ? '2' : '1'}${page_id.slice(middle + 1)}`
    const input = [
      [id, { page_id: changed }],
      [id, { page_id: 'nonsense' }],
      [id, { page_id, kind: 'MessageEvent' }],
      [id, { page_id, sort_order: 'TIMESTAMP_DESC' }],
      [other, { page_id }],
    ] as const
    for (const [where, query] of input) {
      const { status } = await trial.client.search(where, query)
      const problem = `a page id of another query had status ${status}: ${JSON.stringify(query)}`
      hold('C4', status === 422, problem)
    }
    bodyOf(await trial.client.search(id, { page_id, limit: 7 }))
  }),
  test('W1 an unknown resource is 404 with a sentence, and an invalid body is 422 with the reasons', async (trial) => {
    const { client } = trial
    const id = await trial.begin()
    const unknown = {
      'an unknown conversation': client.get('unheard-of'),
      'the events of an unknown conversation': client.search('unheard-of'),
      'a message to an unknown conversation': client.say('unheard-of', 'Hello', { run: true }),
      'an unknown event': client.event(id, 'unheard-of'),
    }
    for (const [what, response] of Object.entries(unknown)) holdRefusal(await response, 404, what)
    for (const content of [[], 'Hello', undefined]) {
      const text = { body: { role: 'user', content } }
      const path = `/api/conversations/${encodeURIComponent(id)}/events`
      holdRefusal(await client.send('POST', path, text), 422, `a message of ${JSON.stringify(content)}`)
    }
  }),
  test('W6 [keys] a request without the key, or with another key, is 401, and the response does not contain the key', async (trial) => {
    const { apiKey = '' } = trial.client.address
    hold('W6', apiKey !== '', 'start returns no apiKey: list keys in lacks')
    const id = await trial.begin()
    for (const key of [{}, { apiKey: `${apiKey}x` }]) {
      const stranger = serverClient({ ...withoutKey(trial.client.address), ...key })
      const { status, body } = await stranger.get(id)
      hold('W6', status === 401, `without the key the status is ${status}`)
      hold('W6', !JSON.stringify(body).includes(apiKey), 'the response contains the key')
    }
  }),
]

const ENCRYPTED_TEXT = 'gAAAAABsealedByTheProvider'

async function saySealed(trial: Trial, id: string): Promise<string> {
  const nested = [{ encrypted_content: ENCRYPTED_TEXT, kept: 'shown' }]
  const parts = [
    { type: 'text', text: 'See this.' },
    { type: 'document', encrypted_content: ENCRYPTED_TEXT, nested },
  ]
  return bodyOf(await trial.client.say(id, parts, { run: false })).event_id ?? ''
}

function holdSealed(shown: unknown): void {
  const text = JSON.stringify(shown)
  hold('X1', text.includes('"kept":"shown"'), 'the part is missing')
  hold('X1', !text.includes(ENCRYPTED_TEXT), 'encrypted_content is visible')
}

const SECRETS: readonly ServerCheck[] = [
  test('W2 [sharing] anyone can search public conversations, without private fields, and no others', async (trial) => {
    const { client } = trial
    const { id, log } = await filled(trial)
    const unshared = bodyOf(await client.searchShared({ conversation_id: id }))
    same('W2', 'a page of a private conversation', unshared, { items: [], next_page_id: null })
    bodyOf(await client.share(id, true))
    const visible = log.filter(({ kind }) => kind !== 'ConversationStateUpdateEvent')
    const stranger = serverClient(withoutKey(client.address))
    for (const limit of [3, 100]) {
      const read = (page: Query) => stranger.searchShared({ conversation_id: id, ...page })
      same('W2', 'shared events', idsOf(await inPages('W2', limit, read)), idsOf(visible))
    }
    const one = await client.searchShared({ conversation_id: id, kind__eq: 'ActionEvent' })
    same('W2', 'calls', bodyOf(one).items.length, log.filter(({ kind }) => kind === 'ActionEvent').length)
    holdRefusal(await client.searchShared({}), 422, 'a search without a conversation')
    holdRefusal(await client.searchShared({ conversation_id: id, limit: 101 }), 422, 'a limit of 101')
  }),
  test('W2 X1 [parts] no page, event or socket shows encrypted content of a provider', async (trial) => {
    const id = await trial.begin()
    const eventId = await saySealed(trial, id)
    const shown = [await trial.log(id), bodyOf(await trial.client.event(id, eventId))]
    for (const value of shown) holdSealed(value)
  }),
  test('X1 [parts sockets] no socket shows encrypted content of a provider', async (trial) => {
    const id = await trial.begin()
    const live = await caughtUp(trial, id, -1)
    const eventId = await saySealed(trial, id)
    const late = trial.client.connect(id, { after: -1 })
    for (const socket of [live, late]) {
      holdSealed(await received(trial, socket, eventId))
      socket.close()
    }
  }),
]

async function contentsOf(trial: Trial, id: string): Promise<object> {
  const { execution_status, leaf_event_id, pending_action_ids, event_count } = bodyOf(
    await trial.client.get(id),
  )
  return { execution_status, leaf_event_id, pending_action_ids, event_count, log: await trial.log(id) }
}

const settled = (trial: Trial, id: string): Promise<true> =>
  trial.until('W4', 'the conversation is still running', async () => RESTING.includes(await trial.status(id)))

const userMessagesIn = (log: readonly Event[]): (string | undefined)[] =>
  log.filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user').map(({ id }) => id)

type Prepared = (trial: Trial) => Promise<() => Promise<void>>

const continues: Prepared = async (trial) => {
  const id = await trial.begin()
  await trial.play(id, [{ says: [trial.note('p'), trial.note('q')] }, { says: ['One.'] }])
  await trial.play(id, [{ says: ['Two.'] }])
  const before = await contentsOf(trial, id)
  return async () => {
    same('S5', 'the conversation after the restart', await contentsOf(trial, id), before)
    await trial.play(id, [{ says: [trial.note('r')] }, { says: ['Three.'] }])
    same('S5', 'messages of the agent', await trial.replies(id), ['One.', 'Two.', 'Three.'])
    await holdPrefixes(trial, id)
  }
}

const keepsHead: Prepared = async (trial) => {
  const id = await trial.begin()
  await trial.play(id, [{ says: ['One.'] }])
  const position = bodyOf(await trial.client.get(id)).leaf_event_id ?? ''
  await trial.play(id, [{ says: ['Two.'] }])
  await trial.accepted(() => trial.client.navigate(id, position))
  return async () => same('T2', 'HEAD', bodyOf(await trial.client.get(id)).leaf_event_id, position)
}

const keepsWaiting: Prepared = async (trial) => {
  const id = await trial.begin()
  bodyOf(await trial.client.setPolicy(id, { kind: 'AlwaysConfirm' }))
  const calls = [trial.note(`w-${id}`)]
  await trial.play(id, [{ says: calls }, { says: calls }, { says: ['Done.'] }], 'waiting_for_confirmation')
  return async () => {
    await trial.rest(id, 'waiting_for_confirmation')
    bodyOf(await trial.client.respond(id, true))
    await nextWaits(trial, id, 2)
    bodyOf(await trial.client.respond(id, true))
    await trial.rest(id)
    holdPaired('P1', await trial.log(id))
  }
}

const keepsPosition: Prepared = async (trial) => {
  const id = await trial.begin()
  const first = await trial.say(id, [], false)
  const socket = trial.client.connect(id, { after: -1 })
  const { position } = await received(trial, socket, first)
  socket.close()
  return async () => {
    const last = await trial.say(id, [], false)
    const next = trial.client.connect(id, { after: position ?? -1 })
    await received(trial, next, last)
    next.close()
    const input = next.frames.flatMap(({ type, event }) => (type === 'event' ? [event.id] : []))
    hold('B1', !input.includes(first), 'an event is repeated')
  }
}

const keepsMessages: Prepared = async (trial) => {
  const id = await trial.begin()
  const messages: (string | undefined)[] = []
  for (let index = 0; index < 8; index += 1) messages.push(await trial.say(id, [], false))
  return async () => {
    same('S5', 'the messages', userMessagesIn(await trial.log(id)), messages)
    await trial.play(id, [{ says: ['I am here.'] }])
  }
}

const settlesReply: Prepared = async (trial) => {
  const id = await trial.begin()
  await trial.say(id, [{ says: ['Cut off.'], wait: 300 }])
  await trial.running(id)
  return async () => {
    await settled(trial, id)
    await trial.play(id, [{ says: ['I am back.'] }])
    same('W4', 'the last reply', (await trial.replies(id)).at(-1), 'I am back.')
  }
}

const settlesCalls: Prepared = async (trial) => {
  const id = await trial.begin()
  const word = `k-${id}`
  await trial.say(id, [{ says: [trial.note(word), trial.hold()] }, { says: ['Going on.'] }])
  await trial.until('P1', 'the first call has no result', async () => {
    const log = await trial.log(id)
    const [call] = callsIn(log)
    return call !== undefined && resultsOf(log, call).length === 1
  })
  return async () => {
    await settled(trial, id)
    // Results may be appended after the status has changed.
    await trial.until('P10', 'a call has no result', async () => {
      const log = await trial.log(id)
      return callsIn(log).every((call) => resultsOf(log, call).length > 0)
    })
    holdPaired('P10', await trial.log(id))
    const stored = (await trial.notes()).filter((note) => note === word)
    hold('P6', stored.length <= 1, `a call was executed ${stored.length} times`)
    await trial.play(id, [{ says: ['I am back.'] }])
    holdPaired('P10', await trial.log(id))
  }
}

const across =
  (how: 'stop' | 'kill', ...cases: readonly Prepared[]) =>
  async (trial: Trial): Promise<void> => {
    const verifications = []
    for (const prepare of cases) verifications.push(await prepare(trial))
    await trial.restart(how)
    for (const id of trial.conversations) {
      const { status } = await trial.client.get(id)
      hold('S5', status === 200, `a conversation had status ${status} after a restart`)
    }
    for (const verify of verifications) await verify()
  }

const CRASH: readonly ServerCheck[] = [
  test(
    'S5 M15 B1 [stop sockets] after a restart a conversation is unchanged and continues, and a reader resumes',
    across('stop', continues, keepsPosition),
  ),
  test(
    'T2 S5 P7 [stop navigation confirmation] a restart changes neither a moved HEAD nor calls that wait for confirmation',
    across('stop', keepsHead, keepsWaiting),
  ),
  test(
    'S5 W4 P10 P6 [kill] a crash loses nothing acknowledged, no conversation reports running forever, and no call runs twice',
    across('kill', keepsMessages, settlesReply, settlesCalls),
  ),
]

const CHECKS: readonly ServerCheck[] = [
  ...PAGES,
  ...REFUSALS,
  ...SECRETS,
  ...RUNS,
  ...LIVE,
  ...STOPS,
  ...CONFIRMATION,
  ...TREE,
  ...CRASH,
]

/** One case of the kit, for one test. */
export interface ServerCase {
  readonly name: string
  readonly laws: readonly string[]
  readonly skipped: string | null
  /** Runs the case on new conversations. Rejects with the broken law; a skipped case does nothing. */
  run(): Promise<void>
}

/**
 * Returns the cases that a server must pass to implement docs/interface.md: exact search, paging during
 * writes, live events across reconnects, runs, pause, interrupt, confirmation, the tree, secrets, and
 * restarts and crashes where possible. Each case also checks the logs of its conversations against the laws.
 * Run the cases in sequence, because they share a server. The caller stops the server.
 * @throws Error if `skip` has an unknown case or an empty reason.
 * @example
 * const cases = serverConformance({ name: 'mine', start: async () => ({ url: 'http://127.0.0.1:3000' }) })
 * // for (const { name, skipped, run } of cases) it.skipIf(skipped !== null)(name, run)
 * cases.find(({ laws }) => laws.includes('W4'))?.skipped // 'kill: the options have no such function'
 */
export function serverConformance(options: ServerConformanceOptions): readonly ServerCase[] {
  const reasons = skipReasons(CHECKS, options)
  const trial = new Trial(options)
  return CHECKS.map((check) => {
    const { name, laws, needs } = check
    const reason = reasons.get(name) ?? needs.flatMap((need) => absence(options, need) ?? [])[0]
    return { ...kitCase(name, reason, () => tryOn(check, options.name, trial)), laws }
  })
}

function absence(options: ServerConformanceOptions, need: Capability): string | undefined {
  const reason = options.lacks?.[need]
  if (reason !== undefined) return `${need}: ${reason}`
  const isFunction = need === 'stop' || need === 'kill' || need === 'notes' || need === 'requests'
  return isFunction && options[need] === undefined ? `${need}: the options have no such function` : undefined
}

async function tryOn(check: ServerCheck, server: string, trial: Trial): Promise<void> {
  trial.conversations = []
  try {
    await trial.start()
    await check.run(trial)
    for (const id of trial.conversations) {
      const { execution_status } = bodyOf(await trial.client.get(id))
      checkWholeLog(await trial.log(id), execution_status !== 'running')
    }
  } catch (error) {
    const id = trial.conversations.at(-1)
    const facts = id === undefined ? null : await trial.log(id).catch(() => null)
    const what = describeFailure({ error, ...(facts !== null && { facts }) })
    throw new Error(`${server}: ${check.name}\n${what}`, { cause: error })
  }
}

const GRAMMAR_NAMES = GRAMMARS.filter(({ rules }) => rules !== null).map(({ name }) => name)

function checkWholeLog(events: readonly Event[], ended: boolean): void {
  const [first] = checkLog(events, { ended, grammars: GRAMMAR_NAMES })
  if (first === undefined) return
  throw new LawBroken(first.law, `${first.message} (at event ${first.id ?? first.seq})`, { facts: events })
}
