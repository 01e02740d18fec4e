/** Logs that were imported with an unfinished run, for which no process ever held a lease (law P). */

import * as fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { uiMessageStream } from '../../src/conversation/ui-messages.ts'
import { isQuarantined } from '../../src/event/quarantine.ts'
import { listPendingCallsIn } from '../../src/log/open-calls.ts'
import { replay } from '../../src/state/reduce.ts'
import { hostileLog, legalLog } from '../../src/testing/index.ts'
import { Tally } from '../../properties/tally.ts'
import { backends } from './backends.ts'
import { script } from './script.ts'
import { logOf } from './stores.ts'

const BACKENDS = backends()
afterAll(() => BACKENDS.remove())

/** A legal log that ends anywhere, or a hostile one. */
const cutLog = () =>
  fc.oneof(
    fc.tuple(legalLog(), fc.nat()).map(([facts, end]) => facts.slice(0, 1 + (end % facts.length))),
    hostileLog(),
  )

it.each(BACKENDS.names)(
  'recoverAll() recovers imported runs without a lease, and their UI streams end, over %s',
  async (name) => {
    const tally = new Tally<'running' | 'open calls' | 'at rest' | 'leased'>()
    const store = (await BACKENDS.make(name)).open()
    const engine = createEngine({ store })
    await fc.assert(
      fc.asyncProperty(cutLog(), async (facts) => {
        const log = facts.filter((fact) => isQuarantined(fact) || fact.kind !== 'StreamingDeltaEvent')
        const [unleased, viewed, leased, run] = ['unleased', 'viewed', 'leased', 'run'].map(
          (use) => `${use}-${crypto.randomUUID()}`,
        ) as [string, string, string, string]
        const ids = [unleased, viewed, leased, run]
        for (const id of ids) {
          await store.createConversation({ id })
          await store.append(id, log, { mode: 'import', expected: 'none' })
        }
        const before = replay(log, { conversationId: unleased })
        const isRunning = before.header.status === 'running'
        const open = listPendingCallsIn(before.branch.pendingCalls).length
        tally.count([
          isRunning ? 'running' : 'at rest',
          ...(isRunning && open > 0 ? ['open calls' as const] : []),
        ])

        // A UI stream that is opened before the recovery.
        const page = await engine.open(viewed)
        const chunks = uiMessageStream(page)
        while ((await chunks.next()).done !== true);
        if (before.branch.lastUserMessage !== null)
          expect((await page.state()).header.status).not.toBe('running')

        const lease = isRunning ? await store.acquireLease(leased, 'another process', 60_000) : null
        if (lease !== null) tally.count(['leased'])
        // A run ends the calls itself, and executes none of them.
        const { step, executed } = script([])
        const copy = await engine.open(run)
        if (isRunning) {
          await copy.sendMessage('And now?')
          const { status } = await copy.run(step)
          expect(status).not.toBe('running')
          const old = new Set(log.map(({ id }) => id))
          expect(executed.filter((id) => old.has(id))).toEqual([])
        }

        // The UI stream recovers its conversation, perhaps at the same time.
        const recoveries = (await engine.recoverAll()).filter(
          ({ conversationId: id }) => ids.includes(id) && id !== viewed,
        )
        expect(recoveries.map(({ conversationId, outcome }) => [conversationId, outcome])).toEqual(
          isRunning ? [[unleased, 'recovered']] : [],
        )
        const after = await (await engine.open(unleased)).state()
        expect(after.header.status).toBe(isRunning ? 'error' : before.header.status)
        if (isRunning) expect(listPendingCallsIn(after.branch.pendingCalls)).toEqual([])
        expect((await logOf(store, unleased)).slice(0, log.length).map(({ fact }) => fact)).toEqual(log)
        if (lease !== null) expect(await logOf(store, leased)).toHaveLength(log.length)
        expect((await engine.recoverAll()).filter(({ conversationId: id }) => ids.includes(id))).toEqual([])
      }),
      { numRuns: name === 'memory' ? 60 : 8 },
    )
    if (name === 'memory') tally.require(['running', 'open calls', 'at rest', 'leased'])
    await engine.close()
    await store.close()
  },
)
