/** The table "Stopping" of docs/background-calls.md, row by row, during a reply and during pending calls. */

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { createEngine } from '../../src/conversation/engine.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { uiMessageResponse } from '../../src/conversation/ui-messages.ts'
import { listWorkingCalls } from '../../src/state/read.ts'
import type { ActionEvent } from '../../src/event/types.ts'
import { executeCalls } from '../../src/steps/step-of.ts'
import { subagent, type StepTool } from '../../src/steps/index.ts'
import { call, delta, gate, logOf, says, script, startConversation } from './script.ts'

type Moment = 'reply' | 'calls'

interface Row {
  readonly act: (conversation: Conversation, page: Response) => Promise<unknown>
  /** Calls whose signal is aborted, and subagents that are interrupted, before anything else ends. */
  readonly stopped: Readonly<Record<Moment, readonly string[]>>
  /** Outcomes of the background calls once all tools have ended. */
  readonly outcomes: Readonly<Record<'work' | 'child', string>>
  readonly log: Readonly<Record<Moment, readonly string[]>>
  readonly status: Readonly<Record<Moment, string>>
}

const DONE = { work: 'done', child: 'done' }
const REPLIED = ['call slow', 'call awaited', 'result slow', 'result awaited', 'agent: ok']
const CONTINUES = {
  log: { reply: REPLIED, calls: REPLIED },
  status: { reply: 'finished', calls: 'finished' },
}
const INTERRUPTED = {
  log: { reply: ['agent: half'], calls: ['call slow', 'call awaited', 'error slow', 'error awaited'] },
  status: { reply: 'paused', calls: 'paused' },
}

const ROWS: Readonly<Record<string, Row>> = {
  '`stop()` of `useChat`, or a closed page': {
    act: (_, page) => page.body?.cancel() ?? Promise.resolve(),
    stopped: { reply: [], calls: [] },
    outcomes: DONE,
    ...CONTINUES,
  },
  '`conversation.pause()`': {
    act: (conversation) => conversation.pause(),
    stopped: { reply: [], calls: [] },
    outcomes: DONE,
    log: { reply: REPLIED.slice(0, 2), calls: REPLIED.slice(0, -1) },
    status: { reply: 'paused', calls: 'paused' },
  },
  '`conversation.interrupt()`': {
    act: (conversation) => conversation.interrupt(),
    stopped: { reply: [], calls: ['slow', 'awaited'] },
    outcomes: DONE,
    ...INTERRUPTED,
  },
  '`conversation.interrupt({ working: true })`': {
    act: (conversation) => conversation.interrupt({ working: true }),
    stopped: { reply: ['work', 'child'], calls: ['work', 'child', 'slow', 'awaited'] },
    outcomes: { work: 'cancelled', child: 'cancelled' },
    ...INTERRUPTED,
  },
  '`conversation.cancel(actionId)`': {
    act: async (conversation) => {
      await conversation.cancel('work')
      await conversation.cancel('child')
    },
    stopped: { reply: ['work', 'child'], calls: ['work', 'child'] },
    outcomes: { work: 'cancelled', child: 'cancelled' },
    ...CONTINUES,
  },
}

const taskCall = (id: string, more: Partial<ActionEvent> = {}): ActionEvent =>
  call(id, id, { action: { kind: 'TaskAction', task: 'Search.' }, ...more })

/** Starts a background call and a background subagent, then a reply with a pending call and an awaited subagent. */
async function begin(moment: Moment) {
  const { engine, conversation, store } = await startConversation()
  const end = gate()
  const replying = gate()
  const begins = new Map(['work', 'child', 'slow', 'awaited'].map((id) => [id, gate()]))
  const aborted = new Set<string>()
  const blocks = async (id: string, signal: AbortSignal): Promise<void> => {
    signal.addEventListener('abort', () => aborted.add(id))
    begins.get(id)?.open()
    await begins.get(id)?.pass()
    await end.pass()
  }
  const child = (id: string): Step =>
    async function* ({ signal }) {
      await blocks(id, signal)
      yield says(`${id} found it`)
    }
  const tool = (name: string): StepTool => ({
    name,
    description: 'Works.',
    parameters: { type: 'object' },
    background: name === 'work',
    execute: async (_, { signal }) => (await blocks(name, signal), `end of ${name}`),
  })
  const agent = (name: string, background: boolean) =>
    subagent({ name, description: 'Helps.', step: child(name), background })
  const tools = [tool('work'), tool('slow'), agent('child', true), agent('awaited', false)]
  const known = new Map(tools.map((each) => [each.name, each]))
  const { step } = script(
    [
      [taskCall('work'), taskCall('child')],
      async function* () {
        if (moment === 'reply') {
          yield delta('half')
          await replying.pass()
        }
        yield ['slow', 'awaited'].map((id) => taskCall(id, { llm_response_id: 'r2' }))
      },
    ],
    (input) => executeCalls(input, known, {}),
  )
  const page = uiMessageResponse(conversation)
  const run = conversation.run(step).catch((error: unknown) => error)
  const waits = moment === 'reply' ? ['work', 'child'] : [...begins.keys()]
  await Promise.all(waits.map((id) => begins.get(id)?.reached))
  if (moment === 'reply') await replying.reached
  const children = await conversation.children()
  const release = (): void => {
    replying.open()
    end.open()
  }
  return { engine, store, conversation, run, page, aborted, children, release }
}

const completionsOf = async (conversation: Conversation): Promise<Record<string, string>> => {
  const { log } = await conversation.state()
  return Object.fromEntries(
    [...log.entries].flatMap(({ event }) => {
      const { completes } = (event?.kind === 'MessageEvent' ? event.llm_message : {}) as {
        completes?: { action_id: string; outcome: string }
      }
      return completes === undefined ? [] : [[completes.action_id, completes.outcome]]
    }),
  )
}

/** Names of the subagents that are interrupted. */
const interrupted = async (conversation: Conversation): Promise<string[]> =>
  (await conversation.children()).flatMap(({ title, status }) => (status === 'paused' ? [title ?? ''] : []))

/** Lines of the second reply and of what follows it. */
async function linesOf(conversation: Conversation): Promise<string[]> {
  const lines = await logOf(conversation)
  return lines
    .slice(lines.indexOf('result child') + 1)
    .filter((line) => /^(?:call|result|error|agent:) /.test(line))
}

const DELETE = '`conversation.delete()`'
const MOMENTS = ['reply', 'calls'] as const

it('the tested rows are the rows of docs/background-calls.md', () => {
  const page = readFileSync(new URL('../../docs/background-calls.md', import.meta.url), 'utf8')
  const [, table = ''] = page.split('## Stopping')
  const rows = [...table.matchAll(/^\| (`.*?) +\|/gm)].map(([, row]) => row)
  expect(rows).toEqual([...Object.keys(ROWS), DELETE])
})

describe.each(['this engine', 'another engine'])('stopping from %s', (where) => {
  const start = async (moment: Moment) => {
    const begun = await begin(moment)
    const other = createEngine({ store: begun.store })
    const target = where === 'this engine' ? begun.conversation : await other.open('c')
    const close = () => Promise.all([other.close(), begun.engine.close()])
    return { ...begun, target, close }
  }

  describe.each(Object.entries(ROWS))('%s', (_, { act, stopped, outcomes, log, status }) => {
    it.each(MOMENTS)('stops what its row lists during %s', async (moment) => {
      const { conversation, target, run, page, aborted, release, close } = await start(moment)
      await act(target, page)
      await act(target, page)
      await expect.poll(() => [...aborted].toSorted()).toEqual(stopped[moment].toSorted())
      release()
      await run
      await expect.poll(() => completionsOf(conversation)).toEqual(outcomes)
      expect(listWorkingCalls(await conversation.state())).toEqual([])
      expect(await linesOf(conversation)).toEqual(log[moment])
      expect((await conversation.state()).header.status).toBe(status[moment])
      const children = stopped[moment].filter((id) => ['child', 'awaited'].includes(id))
      await expect.poll(async () => (await interrupted(conversation)).toSorted()).toEqual(children.toSorted())
      await close()
    })
  })

  describe(DELETE, () => {
    it.each(MOMENTS)('deletes the conversation and its subagents during %s', async (moment) => {
      const { engine, conversation, target, run, aborted, children, release, close } = await start(moment)
      expect(children).toHaveLength(moment === 'reply' ? 1 : 2)
      const planned = await engine.deleteConversations({ ids: ['c'] }, { dryRun: true })
      expect(planned).toMatchObject({ conversations: 1 + children.length })
      expect(await target.delete()).toBe(true)
      expect(await target.delete()).toBe(false)
      const all = ['awaited', 'child', 'slow', 'work']
      await expect.poll(() => [...aborted].toSorted()).toEqual(moment === 'reply' ? ['child', 'work'] : all)
      release()
      expect(await run).toMatchObject({ code: 'unknown_conversation' })
      for (const id of ['c', ...children.map((child) => child.id)])
        await expect(engine.open(id)).rejects.toMatchObject({ code: 'unknown_conversation' })
      await expect(conversation.state()).rejects.toMatchObject({ code: 'unknown_conversation' })
      await close()
    })
  })
})
