/**
 * Concurrent creates of one id at two services: one wins, and later changes survive. A service may die.
 * Concurrent metadata changes all survive (law W7).
 */

import fc from 'fast-check'
import { expect, it } from 'vitest'
import { serialQueue } from '../../src/conversation/async.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { JsonObject } from '../../src/event/shapes.ts'
import type { Event } from '../../src/event/types.ts'
import { create } from '../../src/service/agent-server/create.ts'
import type { StartBody } from '../../src/service/request-schema.ts'
import { Runs } from '../../src/service/conversations/runs.ts'
import { Starts } from '../../src/service/conversations/starts.ts'
import { changeConversation } from '../../src/service/control-plane/app-conversations.ts'
import { appOf } from '../../src/service/control-plane/app-metadata.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import { BOX, scheduledStore } from './scheduled-store.ts'
import { killable } from './killable-store.ts'

const ID = '0f8fad5b-d9cb-469f-a165-70867728950e'

interface CreateRequest {
  readonly form: string
  readonly index: number
  readonly policy: 'AlwaysConfirm' | 'NeverConfirm' | null
  readonly text: string | null
}

const createRequest: fc.Arbitrary<CreateRequest> = fc.record({
  form: fc.constantFrom(ID, ID.replaceAll('-', ''), ID.toUpperCase()),
  index: fc.nat(1),
  policy: fc.constantFrom(null, 'AlwaysConfirm' as const, 'NeverConfirm' as const),
  text: fc.constantFrom(null, 'One', 'One', 'Two'),
})

/** A process that creates conversations; the scheduler orders its store calls. */
function processOver(real: Store, scheduler: fc.Scheduler) {
  const { store, dieAfter, isDead } = killable(scheduledStore(real, scheduler))
  const engine = createEngine({ store })
  const starts = new Starts(store, BOX)
  const options = {
    store,
    starts,
    agent: null,
    options: {},
    maxRuns: 1,
    leaseTtl: 45_000,
    onFailure: () => undefined,
  }
  return { lifecycle: { engine, starts, runs: new Runs(options) }, dieAfter, isDead }
}

const bodyOf = ({ form, policy, text }: CreateRequest): StartBody => ({
  conversation_id: form,
  ...(policy !== null && { confirmation_policy: { kind: policy } }),
  ...(text !== null && { initial_message: { content: [{ type: 'text', text }] } }),
})

/** Policies and message texts of the log. */
async function text(store: Store): Promise<{ readonly policies: string[]; readonly texts: string[] }> {
  const events = (await store.read(ID)).map(({ fact }) => fact as Event)
  return {
    policies: events.flatMap((event) =>
      event.kind === 'ConversationStateUpdateEvent' && event.key === 'confirmation_policy'
        ? [(event.value as { readonly kind: string }).kind]
        : [],
    ),
    texts: events.flatMap((event) => {
      const [part] = event.kind === 'MessageEvent' ? (event.llm_message.content ?? []) : []
      return part !== undefined && 'text' in part ? [String(part.text)] : []
    }),
  }
}

const LATER = { kind: 'ConfirmRisky', threshold: 'HIGH' }
const seen = { policies: 0, texts: 0, others: 0, changed: 0, died: 0, startedLate: 0 }

it('one of several concurrent creates writes its policy and message, and later changes stay', async () => {
  const property = fc.asyncProperty(
    fc.scheduler(),
    fc.array(createRequest, { minLength: 2, maxLength: 4 }),
    fc.boolean(),
    fc.option(fc.nat({ max: 12 })),
    async (scheduler, all, changes, dies) => {
      const real = memoryStore()
      const processes = [processOver(real, scheduler), processOver(real, scheduler)]
      if (dies !== null) processes[0]?.dieAfter(dies)
      let created = 0
      let changed = false
      const ask = async ({ index, ...rest }: CreateRequest): Promise<void> => {
        const process = processes[index]
        if (process === undefined) return
        try {
          const { isNew, conversation } = await create(process.lifecycle, bodyOf({ index: index, ...rest }))
          created += isNew ? 1 : 0
          if (!isNew || !changes) return
          await conversation.setConfirmationPolicy(LATER)
          changed = true
        } catch (error) {
          if (!process.isDead()) throw error
        }
      }
      await scheduler.waitFor(Promise.all(all.map(ask)))
      if (dies === null) expect(created).toBe(1)
      else expect(created).toBeLessThan(2)
      const before = await text(real).catch(() => null)
      // Requests without a response are repeated at the living process.
      for (const one of all) await scheduler.waitFor(ask({ ...one, index: 1 }))
      const { policies, texts } = await text(real)
      // The log contains one request's policy and text.
      const first = policies.filter((kind) => kind !== LATER.kind)
      expect([first.length < 2, texts.length < 2]).toEqual([true, true])
      const one = { policy: first[0] ?? null, text: texts[0] ?? null }
      expect(all.map(({ policy, text }) => ({ policy, text }))).toContainEqual(one)
      // An acknowledged change survives.
      if (changed) expect(policies.at(-1)).toBe(LATER.kind)
      // The creator's message is appended, by either process.
      const begins = (await real.getConversation(ID))?.metadata['begins']
      if (begins === true) expect(texts).toHaveLength(1)
      if (begins === 'policy') expect(first.length > 0 || changed).toBe(true)
      seen.policies += first.length
      seen.texts += texts.length
      seen.others += all.some(({ policy, text }) => policy !== one.policy || text !== one.text) ? 1 : 0
      seen.changed += changed ? 1 : 0
      seen.died += processes[0]?.isDead() === true ? 1 : 0
      seen.startedLate +=
        before !== null && before.policies.length + before.texts.length === 0 && begins ? 1 : 0
    },
  )
  await fc.assert(property)
  for (const [name, count] of Object.entries(seen)) expect([name, count >= 3]).toEqual([name, true])
})

/** A change of an existing conversation, and the process that makes it. */
const change = fc.tuple(fc.nat(1), fc.constantFrom('secret', 'field', 'app', 'read'))

it('concurrent metadata changes all survive, and reads see every acknowledged change', async () => {
  const property = fc.asyncProperty(
    fc.scheduler(),
    fc.array(change, { minLength: 2, maxLength: 5 }),
    async (scheduler, all) => {
      const real = memoryStore()
      const starts = new Starts(real, BOX)
      const secrets: Record<string, string> = { FIRST: 'sk-first' }
      const fields: Record<string, string> = {}
      const branches = new Set<string | null>()
      await real.createConversation({ id: ID, metadata: { ...(await starts.store({ secrets })) } })
      const processes = [processOver(real, scheduler), processOver(real, scheduler)] as const
      const ask = async ([position, does]: readonly [number, string], index: number): Promise<void> => {
        const { lifecycle } = processes[position === 0 ? 0 : 1]
        const { store } = lifecycle.engine
        const name = `${does}${index}`
        if (does === 'secret') {
          await lifecycle.starts.change(ID, (start) => ({
            ...start,
            secrets: { ...(start['secrets'] as JsonObject), [name]: name },
          }))
          secrets[name] = name
        } else if (does === 'field') {
          await lifecycle.starts.change(ID, (start) => ({ ...start, [name]: name }))
          fields[name] = name
        } else if (does === 'app') {
          const plane = { store, lifecycle, inTurn: serialQueue() }
          await changeConversation(plane, ID, { selected_branch: name })
          branches.add(name)
        } else {
          const acknowledged = structuredClone({ ...fields, secrets })
          const record = await store.getConversation(ID)
          // Lets others change the record between its read and its write.
          for (let turn = 0; turn < 8; turn += 1) await store.getConversation('none')
          expect(record && (await lifecycle.starts.of(record))).toMatchObject(acknowledged)
        }
      }
      await scheduler.waitFor(Promise.all(all.map(ask)))
      const record = await real.getConversation(ID)
      expect(record && (await starts.of(record))).toEqual({ ...fields, secrets })
      const { selected_branch: branch } = appOf({ metadata: record?.metadata ?? {} })
      expect(branches.size === 0 ? [null] : [...branches]).toContain(branch)
      // Replaced or late starts leave nothing.
      expect((await real.countItems('conversation-starts')).count).toBe(1)
    },
  )
  await fc.assert(property)
})
