/**
 * Runs several writers until it is killed: `node fault-writer.ts TARGET NAME TIMEOUT`. Prints reports, and
 * executes commands from standard input.
 */

import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { hasCode } from '../../src/event/errors.ts'
import type { AppendOptions } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { CONVERSATIONS, LEASE_TTL, LEASED, WRITERS_EACH } from './workload.ts'

/** A writer's report, one JSON line each. Milliseconds are the duration of the call. */
export type Report =
  | readonly [type: 'acknowledged', conversation: string, id: string, ms: number]
  | readonly [type: 'failed', code: string, ms: number]
  | readonly [type: 'leased' | 'held']

const [, , target = '', name = '', timeoutText = ''] = process.argv
const timeout = Number(timeoutText)

/** Synchronous, so that a kill loses no report. */
const report = (...values: Report): void => void writeSync(1, `${JSON.stringify(values)}\n`)

const database = target.startsWith('postgres') ? null : new DatabaseSync(target)
const store =
  database === null
    ? postgresStore({ url: target, timeout })
    : sqliteStore({ database, busyTimeout: timeout, synchronous: 'normal' })

let isHeld = false
const active = new Set<() => unknown>()
let count = 0

/** Repeats a call until it succeeds. Returns null if it can never succeed, for example after a lost lease. */
async function retry<T>(call: () => Promise<T>): Promise<{ readonly value: T; readonly ms: number } | null> {
  active.add(call)
  for (;;) {
    const start = performance.now()
    try {
      const value = await call()
      active.delete(call)
      return { value, ms: performance.now() - start }
    } catch (error) {
      if (hasCode(error, 'lease_lost')) {
        active.delete(call)
        return null
      }
      const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
      report('failed', code, performance.now() - start)
      await sleep(50)
    }
  }
}

async function append(conversation: string, id: string, options: AppendOptions = {}): Promise<boolean> {
  const done = await retry(() => store.append(conversation, [{ kind: 'PauseEvent', id }], options))
  if (done !== null) report('acknowledged', conversation, id, done.ms)
  return done !== null
}

async function write(writer: number): Promise<void> {
  for (;;) {
    if (isHeld) await sleep(20)
    else await append(CONVERSATIONS[writer % CONVERSATIONS.length] ?? '', `${name}.${writer}.${(count += 1)}`)
    await sleep(5)
  }
}

/** Writes while it holds the lease. Ids contain the generation, which must never decrease along the log. */
async function writeLeased(): Promise<void> {
  for (;;) {
    await sleep(20)
    if (isHeld) continue
    const lease = (await retry(() => store.acquireLease(LEASED, name, LEASE_TTL)))?.value ?? null
    if (lease === null) continue
    report('leased')
    await append(LEASED, `${lease.generation}.${name}.${(count += 1)}`, { lease })
  }
}

const all = [
  ...Array.from({ length: WRITERS_EACH - 1 }, (_, writer) => write(writer + Number(name.split('-')[0]))),
  writeLeased(),
]
void Promise.all(all).catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'hold') {
    isHeld = true
    while (active.size > 0) await sleep(5)
    report('held')
  } else if (line === 'go') isHeld = false
  else if (line.startsWith('PRAGMA')) database?.exec(line)
}
process.exit(0)
