/** The conformance kit for servers: named cases that hold any agent server to the interface. */

import { GRAMMARS } from '../../messages/grammars.ts'
import type { Event } from '../../event/types.ts'
import { describeFailure, LawBroken } from '../failure.ts'
import {
  type Capability,
  type ServerCheck,
  type ServerConformanceOptions,
  SharedServer,
  Trial,
} from './trial.ts'
import { CONSENT, RUNS, STOPS } from './run-cases.ts'
import { CRASH } from './crash-cases.ts'
import { LIVE } from './live-cases.ts'
import { PAGES, REFUSALS, SECRETS, TREE } from './log-cases.ts'
import { bodyOf } from './client.ts'
import { checkLog } from '../../laws/check-log.ts'

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
 * @throws an Error for a skip without reason, or of a case that there is not.
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
