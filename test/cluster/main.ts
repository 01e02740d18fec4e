/**
 * Repeatedly fails the primary of a real cluster under writes of the library and service. Reports
 * acknowledged, lost and duplicate writes, and the time without writes. Exits with 1 if a write was lost,
 * duplicated or misread.
 */

import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startChild } from './children.ts'
import { type EtcdVersion, startCluster, urlAt } from './cluster.ts'
import { FAULTS } from './faults.ts'
import { failOver, type Run } from './fail-over.ts'
import { install } from './install.ts'
import { Ledger } from './ledger.ts'
import { clearAll, HERE, makeNetwork } from './network.ts'
import { startProxy } from './proxy.ts'
import { type Failover, isClean, lineOf, summaryOf } from './report.ts'
import { startServices } from './services.ts'

/** Working folder, for one run at a time. */
const FOLDER = join(tmpdir(), 'colloquy-cluster')
const OWNER = join(FOLDER, 'process')

/** Failovers between two summaries. */
const SUMMARY = 10

const KNOWN_LOSS =
  'Debian 12: Patroni 3.0.2 over version 3 of the interface of etcd is known to lose commits when a paused primary wakes'

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const { values } = parseArgs({
  options: {
    failovers: { type: 'string', default: '12' },
    faults: { type: 'string', default: FAULTS.map(({ name }) => name).join() },
    etcd: { type: 'string', default: '2' },
  },
})
const count = Number(values.failovers)
const names = values.faults.split(',')
const faults = FAULTS.filter(({ name }) => names.includes(name))
const etcd = Number(values.etcd)
if (!(count > 0) || faults.length !== names.length || !(etcd === 2 || etcd === 3)) {
  const list = FAULTS.map(({ name }) => name).join()
  say(`usage: npm run test:cluster -- [--failovers 12] [--faults ${JSON.stringify(list)}] [--etcd 2|3]`)
  process.exit(2)
}

const done: Failover[] = []
const ledger = new Ledger()
const ending = new AbortController()
let isOwner = false

const summarize = (): void => summaryOf(done, ledger.failures).forEach(say)

/** Ends all children and this process. */
async function end(code: number): Promise<void> {
  if (ending.signal.aborted) return
  ending.abort()
  if (done.length > 0) summarize()
  // The folder may belong to another run.
  if (isOwner) await clearAll(FOLDER, code === 1)
  if (isOwner && code === 1) say(`the logs of all programs are in ${FOLDER}/logs`)
  process.exit(code)
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    say('ending')
    void end(130)
  })

/** @throws Error while another run is active. */
async function claimFolder(): Promise<void> {
  const owner = existsSync(OWNER) ? (await readFile(OWNER, 'utf8')).trim() : ''
  const command = owner === '' ? '' : await readFile(`/proc/${owner}/cmdline`, 'utf8').catch(() => '')
  if (command.includes('cluster/main.ts')) throw new Error(`another run is active: process ${owner}`)
  isOwner = true
  await clearAll(FOLDER)
  await mkdir(FOLDER)
  await writeFile(OWNER, String(process.pid))
}

async function prepare(version: EtcdVersion): Promise<Run> {
  await install(say)
  await claimFolder()
  await makeNetwork()
  const cluster = await startCluster(FOLDER, version)
  const primary = await cluster.steady(60_000)
  if (primary === null) throw new Error('the cluster has no primary')
  await cluster.withClient(primary, (client) => client.query('CREATE TABLE bare (name text PRIMARY KEY)'))
  const proxy = await startProxy(HERE, cluster.nodes)
  const url = urlAt(HERE, proxy.port)
  const services = await startServices(FOLDER, url, 2)
  const logs = join(FOLDER, 'logs')
  const start = (file: string, args: readonly string[]) =>
    startChild(file, args, logs, (text) => ledger.record(text))
  const writers = [
    start('writer.ts', [url, 'a']),
    start('writer.ts', [url, 'b']),
    start('client.ts', [services.key, ...services.urls]),
  ]
  const reader = start('reader.ts', [url, services.key, ...services.urls])
  return { cluster, services, ledger, writers, reader, say }
}

/** Checks all rounds again: earlier writes may have been lost since. */
async function checkAll({ cluster }: Run): Promise<void> {
  const primary = await cluster.steady(60_000)
  const last = done.at(-1)
  if (primary === null || last === undefined) throw new Error('the cluster has no primary')
  for (let first = 1; first <= done.length; first += SUMMARY) {
    const rounds = Array.from(
      { length: Math.min(SUMMARY, done.length + 1 - first) },
      (_, index) => first + index,
    )
    const checked = await cluster.withClient(primary, (client) => ledger.check(client, rounds))
    if (checked.lost.length + checked.lostRows.length + checked.duplicates.length === 0) continue
    const [from, to] = [primary.name, primary.name]
    done.push({ ...last, ...checked, fault: 'none', from, to, acknowledged: 0, misread: [] })
  }
}

try {
  if (etcd === 3) say(KNOWN_LOSS)
  const run = await prepare(etcd)
  say(`one primary, two synchronous standbys, two services; ${count} failovers`)
  for (let number = 1; number <= count && !ending.signal.aborted; number += 1) {
    const fault = faults[(number - 1) % faults.length]
    if (fault === undefined) break
    const one = await failOver(run, fault, number)
    done.push(one)
    say(lineOf(one, number, count))
    for (const name of [...one.lost, ...one.duplicates, ...one.misread].slice(0, 5)) say(`  ${name}`)
    if (number % SUMMARY === 0 && number < count) summarize()
  }
  await checkAll(run)
  await end(isClean(done) ? 0 : 1)
} catch (error) {
  if (!ending.signal.aborted) {
    say(error instanceof Error ? (error.stack ?? error.message) : String(error))
    await end(1)
  }
}
