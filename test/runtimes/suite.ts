/** What every runtime runs: the laws of logs on arbitrary ones, and the conformance kit over the memory store; then, where there are some, over databases. */

import * as fc from 'fast-check'
import { LOG_CHECKS } from '../../properties/checks/all.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { hostileLog, legalLog, storeConformance } from '../../src/testing/index.ts'

/** What became of one part. */
export interface Outcome {
  readonly part: string
  readonly passed: number
  /** What did not hold, each with why. */
  readonly failed: readonly string[]
}

/** A database of the runtime: how a store of it is opened that holds nothing. */
export interface Database {
  readonly name: string
  open(): Promise<Store>
}

const [RUNS, SEED] = [25, 7]

/** Each part in turn. */
export async function* runSuite(databases: readonly Database[] = []): AsyncGenerator<Outcome> {
  for (const [name, logs] of [
    ['hostile', hostileLog()],
    ['legal', legalLog()],
  ] as const)
    yield await partOf(
      `laws on ${RUNS} ${name} logs`,
      LOG_CHECKS.map((check, at) => ({
        name: check.name || `check ${at}`,
        run: async () =>
          fc.assert(
            fc.property(logs, (log) => check(log)),
            { numRuns: RUNS, seed: SEED },
          ),
      })),
    )
  const memory: Database = { name: 'memory', open: async () => memoryStore() }
  for (const { name, open } of [memory, ...databases])
    yield await partOf(`store: ${name}`, storeConformance({ name, open, size: 'quick' }))
}

interface Case {
  readonly name: string
  run(): Promise<void>
}

async function partOf(part: string, cases: readonly Case[]): Promise<Outcome> {
  const failed: string[] = []
  for (const { name, run } of cases) {
    try {
      await run()
    } catch (error) {
      failed.push(`${name}: ${error instanceof Error ? error.message.slice(0, 2_000) : String(error)}`)
    }
  }
  return { part, passed: cases.length - failed.length, failed }
}
