/**
 * A process is killed repeatedly: nothing acknowledged is lost, nothing is executed twice, and the log has
 * its true state (laws T, P).
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, describe, expect, inject, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { openCallsOf } from '../../src/conversation/decide.ts'
import type { AgentErrorEvent } from '../../src/event/types.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import { listWarningsIn } from '../../src/log/log.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { encodeState } from '../../src/state/read.ts'
import { replay } from '../../src/state/reduce.ts'
import type { State } from '../../src/state/state.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { toLogged } from '../../src/conversation/logged-event.ts'
import type { StoredEvent } from '../../src/store/contract/query.ts'
import { backends } from './backends.ts'
import { logOf } from './stores.ts'

/** Kills per store; a thorough run uses 100 or more. */
const KILLS = Number(process.env['COLLOQUY_KILLS'] ?? 3)

const BACKENDS = backends()
const running = new Set<ChildProcess>()
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  await BACKENDS.remove()
})

type Line =
  | readonly ['open']
  | readonly ['stored', readonly (readonly [number, string])[]]
  | readonly ['appended', readonly string[]]
  | readonly ['executed', string]
  | readonly ['forked', string, string | null, number]
  | readonly ['ran', string]

/** Output of all processes so far. */
interface Output {
  readonly lines: Line[]
}

/** Runs a process and kills it. Fails if the process ends by itself. */
async function runUntilKilled(
  kind: string,
  location: string,
  seed: number,
  life: string,
  output: Output,
): Promise<void> {
  const args = [join(inject('built'), 'test/driver.js'), kind, location, String(seed), life]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  let problem = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (problem += text))
  const lines = createInterface({ input: child.stdout })
  const closed = once(child, 'close')
  // Waits for a number of lines, not for a time, because the machine may be busy.
  const minLines = output.lines.length + 8 + Math.random() * 60
  const worked = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      output.lines.push(JSON.parse(line) as Line)
      if (output.lines.length >= minLines) resolve()
    })
  })
  // Some processes are killed while they open the store.
  if (seed % 5 === 4) await sleep(150 + Math.random() * 150)
  else await Promise.race([worked, closed])
  child.kill('SIGKILL')
  const [, signal] = (await closed) as [number | null, string | null]
  running.delete(child)
  expect(signal, problem).toBe('SIGKILL')
}

const replayed = (log: readonly StoredEvent[], conversationId = 'c'): State =>
  replay(
    log.map(({ fact }) => fact),
    { conversationId },
  )

/** Compares the log with the output. */
function checkOutput(log: readonly StoredEvent[], { lines }: Output): void {
  const index = new Map(log.map(({ id, seq }) => [id, seq]))
  const executed: string[] = []
  let last = -1
  for (const line of lines) {
    if (line[0] === 'stored')
      expect(line[1].map(([seq]) => log[seq]?.id)).toEqual(line[1].map(([, id]) => id))
    if (line[0] === 'appended') expect(line[1].filter((id) => !index.has(id))).toEqual([])
    if (line[0] === 'executed') executed.push(line[1])
    const seqs =
      line[0] === 'stored'
        ? line[1].map(([seq]) => seq)
        : line[0] === 'appended'
          ? line[1].map((id) => index.get(id) as number)
          : []
    expect(seqs.filter((seq, i) => seq <= (seqs[i - 1] ?? last))).toEqual([])
    last = seqs.at(-1) ?? last
  }
  // The start of a call is logged before it executes. It starts again only after an approval.
  for (const [id, times] of Map.groupBy(executed, (each) => each)) {
    expect(times.length, id).toBeLessThanOrEqual(countUpdates(log, 'started_actions', id))
    expect(times.length, id).toBeLessThanOrEqual(1 + countUpdates(log, 'approved_actions', id))
  }
}

const countUpdates = (log: readonly StoredEvent[], key: string, id: string): number =>
  log.filter(({ fact }) => {
    const isGrant = !isQuarantined(fact) && fact.kind === 'ConversationStateUpdateEvent' && fact.key === key
    return isGrant && Array.isArray(fact.value) && fact.value.includes(id)
  }).length

/** Forks are complete or empty, and contain the events of their source. */
async function checkForks(store: Store, source: readonly StoredEvent[], { lines }: Output): Promise<number> {
  const ids = new Set(source.map((event) => event.id))
  const forkReports = new Map(
    lines.flatMap((line) => (line[0] === 'forked' ? [[line[1], line] as const] : [])),
  )
  const { items } = await store.listConversations({ parentConversationId: 'c', limit: 100 })
  for (const { id } of items) {
    const log = await logOf(store, id)
    const last = log.at(-1)?.fact
    const claim = forkReports.get(id)
    if (claim === undefined && log.length === 0) continue
    const state = replayed(log, id)
    expect(listWarningsIn(state.log)).toEqual([])
    expect(last).toMatchObject({
      key: 'execution_status',
      value: openCallsOf(state).length > 0 ? 'waiting_for_confirmation' : 'idle',
    })
    if (claim === undefined) continue
    const [, , from, length] = claim
    const then = replayed(source.slice(0, length))
    const expected =
      from === null
        ? then
        : replayed(source.slice(0, (source.find((event) => event.id === from)?.seq ?? 0) + 1))
    const isUpdate = (id: string | null): boolean => {
      const fact = source.find((event) => event.id === id)?.fact
      return fact !== undefined && !isQuarantined(fact) && fact.kind === 'ConversationStateUpdateEvent'
    }
    // A fork also ends calls that need no confirmation.
    const copied = replayed(
      log.filter((event) => ids.has(event.id)),
      id,
    )
    const open = openCallsOf(copied).map(({ event }) => event.tool_call_id)
    for (const { fact } of log.filter((event) => !ids.has(event.id)))
      if (!isQuarantined(fact) && fact.kind !== 'ConversationStateUpdateEvent')
        expect(open).toContain((fact as AgentErrorEvent).tool_call_id)
    // HEAD of a fork from an update is the event before it on its branch, wherever the update moved HEAD.
    if (!isUpdate(from)) {
      expect(copied.log.head?.id).toBe(expected.log.head?.id)
      expect(toMessages(copied)).toEqual(toMessages(expected))
    }
  }
  return items.length
}

describe.each(BACKENDS.names.filter((name) => name !== 'memory'))(
  'a process with a database in %s',
  (name) => {
    it(
      `loses no acknowledged event and executes no call twice in ${KILLS} kills`,
      async () => {
        let events = 0
        let recovered = 0
        let forks = 0
        let snapshots = 0
        for (let round = 0; round < KILLS;) {
          const backend = await BACKENDS.make(name)
          const output: Output = { lines: [] }
          for (let lives = 0; lives < 4 && round < KILLS; lives += 1, round += 1) {
            await runUntilKilled(name, backend.location, round, `r${round}`, output)
            await backend.settled()
            const store = backend.open()
            const engine = createEngine({ store })
            if ((await store.getConversation('c')) === null) {
              expect(output.lines.filter(([what]) => what !== 'open')).toEqual([])
              await store.close()
              continue
            }
            const conversation = await engine.open('c')
            const result = await conversation.state()
            const before = await logOf(store)
            const folded = replayed(before)
            expect(encodeState(result)).toBe(encodeState(folded))
            expect(toMessages(result)).toEqual(toMessages(folded))
            expect(listWarningsIn(folded.log)).toEqual([])
            expect((await store.getConversation('c'))?.headId ?? null).toBe(folded.log.head?.id ?? null)
            expect([...folded.log.entries].map(({ parent }) => parent?.id ?? null)).toEqual(
              before.map(({ parentId }) => parentId),
            )
            checkOutput(before, output)
            forks += await checkForks(store, before, output)
            if ((await store.loadSnapshot('c')).length > 0) snapshots += 1

            let recovery = await conversation.recover()
            // The dead process's lease must expire.
            while (recovery.outcome === 'live') {
              await sleep(50)
              recovery = await conversation.recover()
            }
            expect(recovery.outcome).toBe(folded.header.status === 'running' ? 'recovered' : 'not_running')
            const after = await logOf(store)
            expect(after.map(toLogged)).toEqual([...before.map(toLogged), ...recovery.events])
            const state = await conversation.state()
            const refolded = replayed(after)
            expect(encodeState(state)).toBe(encodeState(refolded))
            expect(await conversation.messages()).toEqual(toMessages(refolded))
            if (recovery.outcome === 'recovered') {
              recovered += 1
              expect(openCallsOf(state)).toEqual([])
              expect(state.header.status).toBe('error')
            } else
              expect(openCallsOf(state).map(({ id }) => id)).toEqual(openCallsOf(folded).map(({ id }) => id))
            events += after.length
            await engine.close()
            await store.close()
          }
        }
        expect(events).toBeGreaterThan(KILLS * 5)
        if (KILLS >= 50) {
          expect(recovered).toBeGreaterThan(KILLS / 20)
          expect(forks).toBeGreaterThan(KILLS / 10)
          expect(snapshots).toBeGreaterThan(KILLS / 20)
        }
      },
      600_000 + KILLS * 20_000,
    )
  },
)
