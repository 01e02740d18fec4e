/**
 * A process that uses a conversation until it is killed. Arguments: `kind location seed life`. Prints acknowledged
 * events, executed calls and forks.
 */

import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEngine } from '../../src/conversation/engine.ts'
import { openCallsOf } from '../../src/conversation/decide.ts'
import type { StepInput, Yielded } from '../../src/conversation/run/step.ts'
import { hasCode } from '../../src/event/errors.ts'
import type { Event } from '../../src/event/types.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { LoggedEvent } from '../../src/conversation/logged-event.ts'
import { action, agent, observe, user } from '../build.ts'
import { random } from './operations.ts'

const [kind = '', location = '', seed = '0', life = ''] = process.argv.slice(2)
const [url = '', schema = ''] = location.split(' ')
const store =
  kind === 'sqlite'
    ? sqliteStore({ file: location, synchronous: 'normal' })
    : postgresStore({ url, schema, pollInterval: 1_000 })

/** Writes synchronously, so that a kill loses no reported line. */
const print = (...line: readonly unknown[]): void => void writeSync(1, `${JSON.stringify(line)}\n`)
const acknowledge = (events: readonly LoggedEvent[]): void =>
  print(
    'stored',
    events.map(({ seq, id }) => [seq, id]),
  )

const pick = random(Number(seed))
let count = 0
const newId = (): string => `${life}.${(count += 1)}`

// Half of the processes have no cache, so they use the store's snapshots.
const engine = createEngine({ store, cacheBytes: Number(seed) % 2 === 0 ? 0 : 2 ** 26 })
await engine.create({ id: 'c' }).catch((error: unknown) => {
  if (!hasCode(error, 'conversation_exists')) throw error
})
const conversation = await engine.open('c')

/** Called when the run loop requests the next event: by then, it has appended these events. */
const reportAppended = (...events: readonly Event[]): void =>
  print(
    'appended',
    events.map(({ id }) => id),
  )

async function* step({ approved }: StepInput): AsyncGenerator<Yielded> {
  const results: Event[] = []
  for (const call of approved) {
    print('executed', call.id)
    if (pick(3) === 0) await sleep(pick(4))
    const result = observe(newId(), { ...call.event, id: call.id })
    if (pick(2) === 0) {
      yield result
      reportAppended(result)
    } else results.push(result)
  }
  if (approved.length > 0) {
    yield results
    reportAppended(...results)
    return
  }
  if (pick(3) === 0) {
    const reply = agent(newId())
    yield reply
    reportAppended(reply)
    return
  }
  const response = newId()
  const calls = Array.from({ length: 1 + pick(3) }, () =>
    action(newId(), { response, tool: pick(8) === 0 ? 'finish' : 'ls', call: pick(4) === 0 ? 'c' : newId() }),
  )
  if (pick(2) === 0) {
    yield calls
    reportAppended(...calls)
    return
  }
  for (const call of calls) {
    yield call
    reportAppended(call)
  }
}

async function performOperation(): Promise<void> {
  const state = await conversation.state()
  const ids = [...state.log.entries].flatMap(({ id, inTree }) => (inTree && id !== null ? [id] : []))
  const some = ids[pick(Math.max(1, ids.length))]
  switch (pick(9)) {
    case 0:
      acknowledge(await conversation.append(Array.from({ length: 1 + pick(400) }, () => user(newId()))))
      break
    case 1:
      acknowledge(await conversation.navigate(pick(6) === 0 ? null : (some ?? null)))
      break
    case 2: {
      const text = state.branch.lastUserMessage?.id
      if (text !== undefined) acknowledge(await conversation.editAndResend(text, 'otherwise'))
      break
    }
    case 3: {
      const id = newId()
      const from = pick(2) === 0 ? undefined : some
      await conversation.fork({ id, ...(from !== undefined && { from }) })
      print('forked', id, from ?? null, state.log.entries.length)
      break
    }
    case 4:
      acknowledge(
        await conversation.setConfirmationPolicy({ kind: pick(2) === 0 ? 'AlwaysConfirm' : 'NeverConfirm' }),
      )
      break
    case 5: {
      const open = openCallsOf(state).filter(({ event }) => (event.action ?? null) !== null)
      acknowledge(
        pick(3) === 0 ? await conversation.reject() : await conversation.approve(open.map(({ id }) => id)),
      )
      break
    }
    case 6:
      acknowledge(await conversation.pause())
      acknowledge(await conversation.resume())
      break
    default:
      if (pick(2) === 0) acknowledge(await conversation.sendMessage('go on'))
      print('ran', (await conversation.run(step, { leaseTtl: 400, maxIterations: 4 })).status)
  }
}

print('open')
// 1,100 events make a snapshot due.
if (Number(seed) % 3 === 0)
  acknowledge(await conversation.append(Array.from({ length: 1_100 }, () => user(newId()))))
for (;;) {
  try {
    await performOperation()
  } catch (error) {
    // HEAD may have no message before it.
    if (hasCode(error, 'empty_view')) continue
    // A busy machine can pause the process for longer than its lease.
    if (hasCode(error, 'lease_lost')) continue
    // The killed run holds its lease for a moment.
    if (!hasCode(error, 'already_running')) throw error
    await sleep(20)
  }
}
