/** The conformance kit for servers: named cases that hold any agent server to the interface. */

import type { Event } from '../../event/types.ts'
import { checkLog } from '../../laws/check-log.ts'
import { GRAMMARS } from '../../messages/grammars.ts'
import { describeFailure, hold, LawBroken, same } from '../failure.ts'
import { bodyOf } from './client.ts'
import { LIVE, received } from './live-cases.ts'
import { PAGES, REFUSALS, SECRETS, TREE } from './log-cases.ts'
import { callsIn, CONSENT, holdPaired, holdPrefixes, nextWaits, resultsOf, RUNS, STOPS } from './run-cases.ts'
import {
  type Capability,
  RESTING,
  type ServerCheck,
  type ServerConformanceOptions,
  SharedServer,
  Trial,
} from './trial.ts'

async function portrait(trial: Trial, id: string): Promise<object> {
  const { execution_status, leaf_event_id, pending_action_ids, event_count } = bodyOf(
    await trial.client.get(id),
  )
  return { execution_status, leaf_event_id, pending_action_ids, event_count, log: await trial.log(id) }
}

const settled = (trial: Trial, id: string): Promise<true> =>
  trial.until('W4', 'it stays running for ever', async () => RESTING.includes(await trial.status(id)))

const saidIn = (log: readonly Event[]): (string | undefined)[] =>
  log.filter(({ kind, source }) => kind === 'MessageEvent' && source === 'user').map(({ id }) => id)

type Prepared = (trial: Trial) => Promise<() => Promise<void>>

const goesOn: Prepared = async (trial) => {
  const id = await trial.begin()
  await trial.play(id, [{ says: [trial.note('p'), trial.note('q')] }, { says: ['One.'] }])
  await trial.play(id, [{ says: ['Two.'] }])
  const before = await portrait(trial, id)
  return async () => {
    same('S5', 'the conversation after the restart', await portrait(trial, id), before)
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

const keepsPlace: Prepared = async (trial) => {
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
    same('S5', 'the messages', saidIn(await trial.log(id)), messages)
    await trial.play(id, [{ says: ['I am here.'] }])
  }
}

/** An interrupted run reports it or continues, and the next message gets a reply. */
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

/** An interrupted call has one result, and is not executed again. */
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
    // The run that claims the conversation first appends what it found, then results.
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
    const looks = []
    for (const prepare of cases) looks.push(await prepare(trial))
    await trial.restart(how)
    for (const id of trial.conversations) {
      const { status } = await trial.client.get(id)
      hold('S5', status === 200, `a conversation had status ${status} after a restart`)
    }
    for (const look of looks) await look()
  }

const CRASH: readonly ServerCheck[] = [
  {
    name: 'after a restart a conversation is unchanged and continues, and a reader resumes',
    laws: ['S5', 'M15', 'B1'],
    needs: ['stop', 'sockets'],
    run: across('stop', goesOn, keepsPlace),
  },
  {
    name: 'after a restart HEAD is where it was moved to, and calls wait for consent that did',
    laws: ['T2', 'S5', 'P7'],
    needs: ['stop', 'navigation', 'confirmation'],
    run: across('stop', keepsHead, keepsWaiting),
  },
  {
    name: 'after a crash everything acknowledged is kept, no conversation reports running forever, and no call runs twice',
    laws: ['S5', 'W4', 'P10', 'P6'],
    needs: ['kill'],
    run: across('kill', keepsMessages, settlesReply, settlesCalls),
  },
]

const CHECKS: readonly ServerCheck[] = [
  ...PAGES,
  ...REFUSALS,
  ...SECRETS,
  ...RUNS,
  ...LIVE,
  ...STOPS,
  ...CONSENT,
  ...TREE,
  ...CRASH,
]

export interface ServerCase {
  readonly name: string
  readonly laws: readonly string[]
  readonly skipped: string | null
  /**
   * Uses its own conversations. Rejects with the broken law if the sentence or a log fails; does nothing when
   * skipped.
   */
  run(): Promise<void>
}

/**
 * Returns the cases that a server of docs/interface.md must pass: exact search, pages during writes, live
 * events over reconnects, runs, pause, interrupt, confirmation, the tree, secrets, and restarts and crashes
 * where possible. Each finally checks its conversations' whole logs against the laws of logs. Run them in
 * sequence: they share a server, which the caller ends.
 * @throws Error for a skip without a reason, or of an unknown case.
 *
 * @example
 * const cases = serverConformance({ name: 'mine', start: async () => ({ url: 'http://127.0.0.1:3000' }) })
 * // for (const { name, skipped, run } of cases) it.skipIf(skipped !== null)(name, run)
 * cases.find(({ laws }) => laws.includes('W4'))?.skipped // 'kill: the options have no such function'
 */
export function serverConformance(options: ServerConformanceOptions): readonly ServerCase[] {
  const { name: server, skip = [], lacks = {} } = options
  for (const { case: name, reason } of skip) {
    if (!CHECKS.some((check) => check.name === name)) throw new Error(`Unknown case to skip: ${name}`)
    if (reason.trim() === '') throw new Error(`Say why ${server} skips: ${name}`)
  }
  const shared = new SharedServer(options)
  return CHECKS.map((check) => {
    const { name, laws, needs = [] } = check
    const missing = needs
      .map((need) => [need, lacks[need] ?? absence(options, need)] as const)
      .find(([, why]) => why !== null)
    const reason =
      skip.find(({ case: named }) => named === name)?.reason ??
      (missing === undefined ? null : `${missing[0]}: ${missing[1]}`)
    if (reason === null) return { name, laws, skipped: null, run: () => tryOn(check, options, shared) }
    return { name: `${name} (skipped: ${reason})`, laws, skipped: reason, run: async () => undefined }
  })
}

function absence(options: ServerConformanceOptions, need: Capability): string | null {
  if (need !== 'stop' && need !== 'kill' && need !== 'notes' && need !== 'requests') return null
  return options[need] === undefined ? 'the options have no such function' : null
}

async function tryOn(
  check: ServerCheck,
  options: ServerConformanceOptions,
  shared: SharedServer,
): Promise<void> {
  const trial = new Trial(options, shared)
  try {
    await shared.start()
    await check.run(trial)
    for (const id of trial.conversations) {
      const { execution_status } = bodyOf(await trial.client.get(id))
      checkWholeLog(await trial.log(id), execution_status !== 'running')
    }
  } catch (error) {
    const facts = await lastLog(trial)
    const what = describeFailure({ error, ...(facts !== null && { facts }) })
    throw new Error(`${options.name}: ${check.name}\n${what}`, { cause: error })
  }
}

async function lastLog(trial: Trial): Promise<readonly Event[] | null> {
  const id = trial.conversations.at(-1)
  return id === undefined ? null : trial.log(id).catch(() => null)
}

/** The log is written in each of these, whatever the grammar of the server's model. */
const NAMES = GRAMMARS.filter(({ rules }) => rules !== null).map(({ name }) => name)

/** @param ended whether nothing runs any more. @throws LawBroken for the first broken law. */
function checkWholeLog(events: readonly Event[], ended: boolean): void {
  const [first] = checkLog(events, { ended, grammars: NAMES })
  if (first === undefined) return
  throw new LawBroken(first.law, `${first.message} (at event ${first.id ?? first.seq})`, { facts: events })
}
