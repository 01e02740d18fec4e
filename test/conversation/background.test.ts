/** Calls that outlive their reply, through runs, completions, cancellations and crashes. */

import { describe, expect, it, vi } from 'vitest'
import { createEngine } from '../../src/conversation/engine.ts'
import { type CallCompletion, workExpiresAt } from '../../src/conversation/background.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { ColloquyError } from '../../src/event/errors.ts'
import type { JsonValue } from '../../src/event/shapes.ts'
import { findEventIn } from '../../src/log/log.ts'
import { Vector } from '../../src/log/vector.ts'
import { listWorkingCalls } from '../../src/state/read.ts'
import { background, type StepTool } from '../../src/steps/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { memoryStore } from '../../src/store/memory/store.ts'
import type { Conversation } from '../../src/conversation/conversation.ts'
import { call, evictBodies, gate, logOf, says, script, startConversation, status } from './script.ts'
import { executeCalls } from '../../src/steps/step-of.ts'
import { wrapStore } from './stores.ts'

const COLLECTION = 'colloquy.background_calls'

/** Scripted replies. This tool executes their calls. */
const stepWith = (
  value: Partial<StepTool> & Pick<StepTool, 'execute'>,
  ...replies: Parameters<typeof script>[0]
) => {
  const work = {
    name: 'work',
    description: 'Works.',
    parameters: { type: 'object' },
    ...value,
  } satisfies StepTool
  const known = new Map([['work', work]])
  const scripted = script(replies, (input) => executeCalls(input, known, {}))
  return Object.assign(scripted, {
    step: Object.assign(scripted.step.bind(scripted), {
      resume: ((action, task, { signal, report }) =>
        work.resume === undefined
          ? null
          : Promise.resolve(work.resume(task, { signal, call: action, report })).then((content) => ({
              content: String(content),
            }))) satisfies Step['resume'],
    }) as Step,
  })
}

const working = async (conversation: Conversation): Promise<readonly string[]> =>
  listWorkingCalls(await conversation.state()).map(({ action }) => action.id)

/** Texts of the last request. */
const sent = ({ requests }: ReturnType<typeof stepWith>): string[] =>
  (requests.at(-1)?.messages ?? []).flatMap(({ content }) =>
    content.map((part) => ('text' in part ? String(part.text) : '')),
  )

/** Options of a store whose clock is ahead of this process by `milliseconds`. */
const clockAhead = (milliseconds: number) => ({ clock: () => BigInt(Date.now() + milliseconds) * 1_000n })

describe.each([
  ['memory', (options = {}) => memoryStore(options)],
  ['sqlite', (options = {}) => sqliteStore({ file: ':memory:', ...options })],
] as const)('background calls over %s', (_, makeStore) => {
  it('a message gets a reply while a call works, and the call completes later', async () => {
    const { engine, conversation } = await startConversation('hello', makeStore())
    const end = gate()
    const scripted = stepWith(
      { background: true, execute: async () => (await end.pass(), 'the report') },
      [call('a')],
      [says('started')],
      [says('six')],
      [says('here it is')],
    )
    const run = conversation.run(scripted.step, { until: 'settled' })
    await conversation.waitFor('finished')
    await conversation.sendMessage('and 3 + 3?')
    await conversation.waitFor('finished')
    expect(scripted.requests).toHaveLength(3)
    expect(await working(conversation)).toEqual(['a'])
    end.open()
    expect(await run).toMatchObject({ status: 'finished', iterations: 4 })
    expect(await working(conversation)).toEqual([])
    expect(sent(scripted).slice(-3)).toEqual([
      'six',
      '[The call a of work is done. Its result:]',
      'the report',
    ])
    expect((await logOf(conversation)).filter((line) => !line.startsWith('='))).toEqual([
      'user: hello',
      'call a',
      'started_actions ["a"]',
      'result a',
      'agent: started',
      'user: and 3 + 3?',
      'agent: six',
      'environment: the report',
      'agent: here it is',
    ])
    await engine.close()
  })

  const stops: readonly [string, (conversation: Conversation) => Promise<unknown>][] = [
    ['pause()', (conversation) => conversation.pause()],
    ['interrupt()', (conversation) => conversation.interrupt()],
    ['interrupt({ working: true })', (conversation) => conversation.interrupt({ working: true })],
  ]
  it.each(stops.flatMap(([name, stop]) => [false, true].map((isOther) => [name, isOther, stop] as const)))(
    '%s ends a run that waits for a call (in another process: %s), and the model reads the result in the next run',
    async (_, isOther, stop) => {
      const { engine, conversation, store } = await startConversation('hello', makeStore())
      const other = createEngine({ store })
      const scripted = stepWith(
        { execute: async () => background(new Promise(() => undefined), { content: 'queued' }) },
        [call('a')],
        [says('started')],
      )
      const run = conversation.run(scripted.step, { until: 'settled' })
      await conversation.waitFor('finished')
      await expect.poll(() => store.getLease('c')).toBeNull()
      const user = isOther ? await other.open('c') : conversation
      await stop(user)
      expect(await status(conversation)).toBe('paused')
      await user.complete('a', 'the report')
      expect(await run).toMatchObject({ status: 'paused', iterations: 2 })
      await conversation.run(scripted.step, { until: 'settled' })
      expect(scripted.requests).toHaveLength(3)
      expect(await status(conversation)).toBe('finished')
      await other.close()
      await engine.close()
    },
  )

  it.each([
    ['no content', { text: 'the report' }],
    ['other content', { content: { rows: 3 } }],
    ['an unknown outcome', { content: 'no such table', outcome: 'error' }],
    ['nothing', undefined],
  ])('complete() rejects a result with %s, and the call keeps working', async (_, result) => {
    const { engine, conversation } = await startConversation('hello', makeStore())
    const scripted = stepWith({ execute: async () => background(new Promise(() => undefined)) }, [call('a')])
    await conversation.run(scripted.step)
    const completed = conversation.complete('a', result as unknown as CallCompletion)
    await expect(completed).rejects.toMatchObject({ code: 'invalid_argument' })
    expect(await working(conversation)).toEqual(['a'])
    await engine.close()
  })

  it.each([
    ['ends', [says('hello to you')], ['agent: hello to you']],
    ['dies', [], ['failed RunLost', '= running', 'agent: hello again']],
  ] as const)(
    'a run that waits for a call continues after a run of another process %s',
    async (end, reply, logged) => {
      const store = makeStore()
      const started = gate()
      let isOther = false
      const { engine, conversation } = await startConversation(
        'hello',
        wrapStore(store, {
          acquireLease: async (...input) => {
            if (isOther) await started.pass()
            return store.acquireLease(...input)
          },
        }),
      )
      const scripted = stepWith(
        { execute: async () => background(new Promise(() => undefined)) },
        [call('a')],
        [says('started')],
        ...(end === 'dies' ? [[says('hello again')]] : []),
        [says('thanks')],
      )
      const run = conversation.run(scripted.step, { until: 'settled' })
      await conversation.waitFor('finished')
      await expect.poll(() => store.getLease('c')).toBeNull()
      isOther = true
      let isDead = false
      const untilDeath =
        <I extends unknown[], R>(work: (...input: I) => Promise<R>) =>
        async (...input: I): Promise<R> => {
          if (isDead) throw new ColloquyError('store_unavailable', 'The process is dead.')
          return work(...input)
        }
      const other = createEngine({
        leaseTtl: end === 'dies' ? 100 : 45_000,
        store: wrapStore(store, {
          append: untilDeath(store.append.bind(store)),
          acquireLease: untilDeath(store.acquireLease.bind(store)),
          releaseLease: untilDeath(store.releaseLease.bind(store)),
        }),
      })
      const talk = await other.open('c')
      await talk.sendMessage('are you there?')
      const answered = talk.run(async function* () {
        started.open()
        isDead = end === 'dies'
        yield reply
      })
      await answered.catch(() => undefined)
      await expect.poll(() => logOf(conversation)).toEqual(expect.arrayContaining([...logged]))
      expect((await logOf(conversation)).slice(-logged.length)).toEqual(logged)
      expect(await working(conversation)).toEqual(['a'])
      await conversation.complete('a', 'the report')
      expect(await run).toMatchObject({ status: 'finished' })
      expect((await logOf(conversation)).at(-1)).toBe('agent: thanks')
      await other.close()
      await engine.close()
    },
  )

  it.each([
    ['a text', '50%', 'must be an object'],
    ['a list', [1], 'must be an object'],
    ['an unknown field', { percent: 50 }, 'Unknown option "percent"'],
    ['no JSON', { progress: 1n }, 'JSON has no bigint'],
  ])('a report with %s is rejected, in the tool and elsewhere', async (_, progress, message) => {
    const { engine, conversation } = await startConversation('hello', makeStore())
    const scripted = stepWith(
      {
        background: true,
        execute: async (_args, { report, call: { id } }) => {
          if (id === 'a') await report?.(progress as never)
          await new Promise(() => undefined)
        },
      },
      [call('a')],
      [call('b')],
      [says('started')],
    )
    await conversation.run(scripted.step)
    const elsewhere = conversation.reportProgress('b', progress as never)
    await expect(elsewhere).rejects.toThrow(message)
    await expect.poll(() => logOf(conversation)).toContainEqual(expect.stringContaining(message))
    expect((await logOf(conversation)).join('\n')).not.toContain('call_progress')
    await engine.close()
  })

  it('the first complete() wins, and later completions and cancellations append nothing', async () => {
    const { engine, conversation } = await startConversation('hello', makeStore())
    const scripted = stepWith(
      {
        execute: async () =>
          background(new Promise(() => undefined), { content: 'queued', task: { job: 7 } }),
      },
      [call('a')],
    )
    expect(await conversation.run(scripted.step)).toMatchObject({ status: 'finished' })
    expect(listWorkingCalls(await conversation.state())).toMatchObject([{ task: { job: 7 } }])
    await conversation.reportProgress('a', { progress: 0.5, task: { job: 8 } })
    expect(listWorkingCalls(await conversation.state())).toMatchObject([
      { task: { job: 8 }, progress: { progress: 0.5 } },
    ])
    const [first] = await conversation.complete('a', 'by hook')
    expect(first?.id).toBe('a-completion')
    expect(await conversation.complete('a', 'again')).toEqual([])
    expect(await conversation.cancel('a')).toEqual([])
    await expect(conversation.complete('nothing', 'x')).rejects.toMatchObject({ code: 'unknown_call' })
    expect(await status(conversation)).toBe('idle')
    await conversation.run(scripted.step)
    expect(sent(scripted).slice(-1)).toEqual(['by hook'])
    expect(await conversation.reportProgress('a', { progress: 1 })).toEqual([])
    await engine.close()
  })

  it('an interrupt aborts a working call only with `working: true`', async () => {
    const { engine, conversation } = await startConversation('hello', makeStore())
    const aborted = Promise.withResolvers<string>()
    const reached = gate()
    const scripted = stepWith(
      {
        background: true,
        execute: async (_args, { signal }) => {
          signal.addEventListener('abort', () => aborted.resolve('aborted'))
          await new Promise(() => undefined)
        },
      },
      [call('a')],
      async function* () {
        await reached.pass()
        yield says('never said')
      },
    )
    const run = conversation.run(scripted.step)
    await reached.reached
    await conversation.interrupt()
    expect(await run).toMatchObject({ status: 'paused' })
    expect(await working(conversation)).toEqual(['a'])
    expect(await Promise.race([aborted.promise, Promise.resolve('at work')])).toBe('at work')
    await conversation.resume()
    await conversation.interrupt({ working: true })
    expect(await working(conversation)).toEqual([])
    expect(await aborted.promise).toBe('aborted')
    reached.open()
    await engine.close()
  })

  it('a promise that has already settled completes its call with a result or an error', async () => {
    const { engine, conversation } = await startConversation('hello', makeStore())
    const scripted = stepWith(
      {
        execute: async (_args, { call: { id } }) =>
          background(id === 'a' ? Promise.reject(new Error('no disk')) : Promise.resolve('at once')),
      },
      [call('a'), call('b')],
      [says('ok')],
    )
    await conversation.run(scripted.step, { until: 'settled' })
    const messages = (await logOf(conversation)).filter((line) => line.startsWith('environment'))
    expect(messages.toSorted()).toEqual(['environment: at once', 'environment: no disk'])
    expect(sent(scripted)).toContain('[The call a of work has failed:]')
    await engine.close()
  })

  it('work that itself starts work is completed with the result of the inner work', async () => {
    const { engine, conversation } = await startConversation('hello', makeStore())
    const scripted = stepWith(
      {
        background: true,
        execute: async (_args, { call: { id } }) =>
          id === 'a'
            ? background(async () => background(Promise.resolve('found')), { task: 'job-2' })
            : background(Promise.reject(new Error('no disk'))),
      },
      [call('a'), call('b')],
      [says('ok')],
    )
    await conversation.run(scripted.step, { until: 'settled' })
    const log = await logOf(conversation)
    const messages = log.filter((line) => line.startsWith('environment'))
    expect(messages.toSorted()).toEqual(['environment: found', 'environment: no disk'])
    const { items } = await conversation.search({ limit: 100 })
    expect(JSON.stringify(items)).toContain('"task":"job-2"')
    await engine.close()
  })

  it.each(['tool', 'store'])(
    'a call does not start to work if its %s responds after an interrupt',
    async (slowPart) => {
      const store = makeStore()
      const slow = gate()
      const { engine, conversation } = await startConversation(
        'hello',
        wrapStore(store, {
          changeItems: async (changes) => {
            if (slowPart === 'store' && changes[0]?.collection === COLLECTION) await slow.pass()
            return store.changeItems(changes)
          },
        }),
      )
      const scripted = stepWith(
        {
          execute: async () => {
            if (slowPart === 'tool') await slow.pass()
            return background(new Promise(() => undefined))
          },
        },
        [call('a')],
      )
      const late = Promise.withResolvers<unknown>()
      const run = conversation.run((input) =>
        scripted.step({
          ...input,
          background: (entry) => {
            const work = input.background(entry)
            late.resolve(work)
            return work
          },
        }),
      )
      await slow.reached
      await conversation.interrupt()
      expect(await run).toMatchObject({ status: 'paused' })
      slow.open()
      await expect(late.promise).rejects.toMatchObject({ code: 'unknown_call' })
      await engine.close()
      expect((await store.listItems(COLLECTION)).items).toEqual([])
    },
  )

  it('work that ends while the engine closes completes its call', async () => {
    const store = makeStore()
    const closed = Promise.withResolvers<void>()
    const closing = wrapStore(store, {
      append: (id, events, options) => {
        const appended = store.append(id, events, options)
        if (JSON.stringify(events).includes('WorkingObservation')) closed.resolve(engine.close())
        return appended
      },
    })
    const { engine, conversation } = await startConversation('hello', closing)
    const scripted = stepWith({ execute: async () => background(Promise.resolve('at once')) }, [call('a')])
    await conversation.run(scripted.step).catch(() => undefined)
    await closed.promise
    const next = createEngine({ store })
    expect(await logOf(await next.open('c'))).toContain('environment: at once')
    await next.close()
  })

  it.each([
    ['resumed', 0],
    ['lost', 0],
    ['resumed', 60_000],
    ['resumed', -60_000],
  ])('the work of a closed engine is %s, with the clock of the store %i ms ahead', async (how, ahead) => {
    const store = makeStore(clockAhead(ahead))
    const { engine, conversation } = await startConversation('hello', store)
    const first = stepWith(
      { execute: async () => background(new Promise(() => undefined), { task: 'job-1' }) },
      [call('a')],
      [says('started')],
    )
    await conversation.run(first.step)
    await engine.close()
    const next = createEngine({ store })
    const again = await next.open('c')
    const tasks: JsonValue[] = []
    const second = stepWith(
      {
        execute: async () => 'never executed again',
        ...(how === 'resumed' && {
          resume: async (task: JsonValue) => {
            tasks.push(task)
            return 'late'
          },
        }),
      },
      [says('seen')],
    )
    await again.sendMessage('and?')
    await again.run(second.step, { until: 'settled' })
    expect(second.executed).toEqual([])
    expect(await working(again)).toEqual([])
    expect(tasks).toEqual(how === 'resumed' ? ['job-1'] : [])
    const log = await logOf(again)
    expect(log).toContain(
      how === 'resumed' ? 'environment: late' : 'environment: The process that did the work has ended.',
    )
    await next.close()
  })

  /** A store with a conversation whose call outlived its process. */
  const abandoned = async () => {
    const store = makeStore()
    const { engine, conversation } = await startConversation('hello', store)
    const scripted = stepWith(
      { execute: async () => background(new Promise(() => undefined), { task: 'job-1' }) },
      [call('a')],
    )
    await conversation.run(scripted.step)
    await engine.close()
    return store
  }

  it('work continues after a renewal that the store made without a response', async () => {
    const store = makeStore()
    let renewals = 0
    const { engine, conversation } = await startConversation(
      'hello',
      wrapStore(store, {
        changeItems: async (changes) => {
          const items = await store.changeItems(changes)
          if (changes[0]?.collection === COLLECTION && (changes[0].put ?? null) !== null) renewals += 1
          // The first is the job itself.
          if (renewals === 2) throw new ColloquyError('store_unavailable', 'no response')
          return items
        },
      }),
    )
    const end = gate()
    let signal: AbortSignal | undefined
    const scripted = stepWith(
      {
        background: true,
        execute: async (_, context) => {
          ;({ signal } = context)
          await end.pass()
          return 'the report'
        },
      },
      [call('a')],
      [says('started')],
      [says('here it is')],
    )
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] })
    try {
      await conversation.run(scripted.step)
      await vi.advanceTimersByTimeAsync(60_000)
    } finally {
      vi.useRealTimers()
    }
    expect(renewals).toBeGreaterThan(4)
    expect(signal?.aborted).toBe(false)
    end.open()
    await conversation.waitFor('idle')
    expect(await logOf(conversation)).toContain('environment: the report')
    await engine.close()
  })

  it.each(['resumed', 'lost'])(
    'a run that waits until all is settled notices that the process of a call dies: the work is %s',
    async (how) => {
      const store = makeStore()
      let isDead = false
      const dying = new Proxy(store, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name)
          if (typeof value !== 'function') return value
          return (...input: unknown[]): unknown =>
            isDead ? new Promise(() => undefined) : Reflect.apply(value, target, input)
        },
      })
      const { conversation } = await startConversation('hello', dying)
      const scripted = stepWith(
        { execute: async () => background(new Promise(() => undefined), { task: 'job-1' }) },
        [call('a')],
        [says('started')],
      )
      await conversation.run(scripted.step)
      isDead = true
      const next = createEngine({ store })
      const again = await next.open('c')
      const second = stepWith(
        { execute: async () => 'x', ...(how === 'resumed' && { resume: async () => 'late' }) },
        [says('seen')],
      )
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
      try {
        const run = again.run(second.step, { until: 'settled' })
        const ended = vi.fn()
        void run.finally(ended)
        await vi.advanceTimersByTimeAsync(20_000)
        expect(await working(again)).toEqual(['a'])
        for (let turns = 0; turns < 100; turns += 1) await vi.advanceTimersByTimeAsync(1_000)
        expect(ended).toHaveBeenCalled()
        expect(await run).toMatchObject({ status: 'finished', iterations: 1 })
      } finally {
        vi.useRealTimers()
      }
      expect(await working(again)).toEqual([])
      expect(await logOf(again)).toContain(
        how === 'resumed' ? 'environment: late' : 'environment: The process that did the work has ended.',
      )
      await next.close()
    },
  )

  it('a call fails if its resume() throws, and the engine closes', async () => {
    const engine = createEngine({ store: await abandoned() })
    const conversation = await engine.open('c')
    await conversation.sendMessage('and?')
    const { step } = stepWith({ execute: async () => 'x' })
    const resumed = Object.assign(step, {
      resume(): never {
        throw new Error('no such job')
      },
    })
    await conversation.run(resumed, { until: 'settled' })
    expect(await logOf(conversation)).toContain('environment: no such job')
    await engine.close()
  })

  it('the next run ends a lost call if an interrupt stops this run first', async () => {
    const store = await abandoned()
    const stop = new AbortController()
    const engine = createEngine({
      store: wrapStore(store, {
        changeItems: async (changes) => {
          if (changes[0]?.collection === COLLECTION) stop.abort()
          return store.changeItems(changes)
        },
      }),
    })
    const conversation = await engine.open('c')
    await conversation.sendMessage('and?')
    const { step } = stepWith({ execute: async () => 'x' })
    expect(await conversation.run(step, { signal: stop.signal })).toMatchObject({ status: 'paused' })
    expect(await working(conversation)).toEqual(['a'])
    await expect
      .poll(async () => ((await store.listItems(COLLECTION)).items[0]?.dueAt ?? Infinity) <= Date.now())
      .toBe(true)
    await conversation.resume()
    await conversation.run(step)
    expect(await working(conversation)).toEqual([])
    await engine.close()
    expect((await store.listItems(COLLECTION)).items).toEqual([])
  })

  it('the next run ends a call whose completion the store rejected 8 times', async () => {
    const store = makeStore()
    let failures = 0
    const { engine, conversation } = await startConversation(
      'hello',
      wrapStore(store, {
        append: async (id, events, options) => {
          if (!JSON.stringify(events).includes('the report')) return store.append(id, events, options)
          failures += 1
          throw new ColloquyError('store_unavailable', 'The database is away.')
        },
      }),
    )
    const { step } = stepWith({ execute: async () => background(Promise.resolve('the report')) }, [call('a')])
    await conversation.run(step)
    await expect.poll(() => failures).toBe(8)
    await expect
      .poll(async () => ((await store.listItems(COLLECTION)).items[0]?.dueAt ?? Infinity) <= Date.now())
      .toBe(true)
    await conversation.sendMessage('and?')
    await conversation.run(step)
    expect(await working(conversation)).toEqual([])
    await engine.close()
  })

  it('work continues if the store fails to append its progress', async () => {
    const store = makeStore()
    const failed = gate()
    const { engine, conversation } = await startConversation(
      'hello',
      wrapStore(store, {
        append: async (id, events, options) => {
          if (!JSON.stringify(events).includes('call_progress')) return store.append(id, events, options)
          failed.open()
          throw new ColloquyError('store_busy', 'The database is busy.')
        },
      }),
    )
    const scripted = stepWith(
      {
        background: true,
        execute: async (_args, { report }) => {
          void report?.({ progress: 0.5 })
          await failed.pass()
          return 'done'
        },
      },
      [call('a')],
    )
    await conversation.run(scripted.step, { until: 'settled' })
    expect(sent(scripted)).toContain('done')
    await engine.close()
  })

  it.each([0, 60_000, -60_000])(
    'a run leaves a working call of another engine alone, with the clock of the store %i ms ahead',
    async (ahead) => {
      const store = makeStore(clockAhead(ahead))
      const { engine, conversation } = await startConversation('hello', store)
      const end = gate()
      const first = stepWith(
        { background: true, execute: async () => (await end.pass(), 'mine') },
        [call('a')],
        [says('started')],
      )
      await conversation.run(first.step)
      const other = createEngine({ store })
      const otherConversation = await other.open('c')
      await otherConversation.sendMessage('and?')
      await otherConversation.run(stepWith({ execute: async () => 'x' }, [says('waiting')]).step)
      expect(await working(otherConversation)).toEqual(['a'])
      end.open()
      await otherConversation.waitFor('idle')
      expect(await working(otherConversation)).toEqual([])
      await other.close()
      await engine.close()
    },
  )

  it('a run resumes only the work of its own branch', async () => {
    const store = makeStore()
    const { engine, conversation } = await startConversation('hello', store)
    const scripted = stepWith(
      {
        execute: async (_args, { call: { id } }) =>
          background(new Promise(() => undefined), { task: `job of ${id}` }),
      },
      [call('a')],
      [says('started')],
      [call('b', 'work', { llm_response_id: 'r2' })],
    )
    await conversation.run(scripted.step)
    const branch = (await conversation.state()).log.head?.id ?? null
    await conversation.navigate(null)
    await conversation.sendMessage('elsewhere')
    await conversation.run(scripted.step)
    await engine.close()
    const next = createEngine({ store })
    const again = await next.open('c')
    const tasks: JsonValue[] = []
    const { step } = stepWith({
      execute: async () => 'never executed again',
      resume: async (task: JsonValue) => {
        tasks.push(task)
        return 'late'
      },
    })
    await again.sendMessage('and?')
    await again.run(step, { until: 'settled' })
    await again.navigate(branch)
    await again.sendMessage('and here?')
    await again.run(step)
    expect(tasks).toEqual(['job of b', 'job of a'])
    await expect.poll(() => working(again)).toEqual([])
    await next.close()
    expect((await store.listItems(COLLECTION)).items).toEqual([])
  })

  it('workExpiresAt() stays in the future while only work of another branch is left', async () => {
    const store = makeStore()
    const { engine, conversation } = await startConversation('hello', store)
    const scripted = stepWith(
      { execute: async () => background(new Promise(() => undefined)) },
      [call('a')],
      [says('started')],
      [call('b', 'work', { llm_response_id: 'r2' })],
      [says('started too')],
    )
    await conversation.run(scripted.step)
    await engine.close()
    const next = createEngine({ store })
    const again = await next.open('c')
    await again.navigate(null)
    await again.sendMessage('elsewhere')
    await again.run(scripted.step)
    for (let round = 1; round <= 3; round += 1) {
      const expiry = await workExpiresAt(store, 'c', await again.state())
      expect(Number(expiry) - Date.now()).toBeGreaterThan(20_000)
      await again.run(scripted.step)
    }
    expect((await store.listItems(COLLECTION)).items).toHaveLength(2)
    await next.close()
  })

  it('a run completes a call on another branch from a completion that was evicted', async () => {
    const { engine, conversation } = await startConversation('hello', makeStore())
    const scripted = stepWith(
      { execute: async () => background(new Promise(() => undefined)) },
      [call('a')],
      [says('started')],
    )
    await conversation.run(scripted.step)
    const [second] = await conversation.sendMessage('second')
    const [completion] = await conversation.complete('a', 'the report')
    await conversation.editAndResend(String(second?.id), 'other second')
    await evictBodies(conversation)
    expect((await conversation.state()).log.entries.get(Number(completion?.seq))?.event).toBe(null)
    expect(await working(conversation)).toEqual(['a'])
    await conversation.run(scripted.step)
    expect(await working(conversation)).toEqual([])
    expect(sent(scripted)).toContain('the report')
    await engine.close()
  })

  it.each([
    ['undefined', undefined],
    ['an invalid part', { content: [{ type: 'text', text: 5 }] }],
    ['invalid content', { content: 5 }],
  ])('a call fails if its work ends with %s', async (_, completion) => {
    const { engine, conversation } = await startConversation('hello', makeStore())
    const { step } = script([[call('a')], [says('ok')]], async function* (input) {
      for (const entry of input.approved) {
        const work = await input.background(entry)
        work.completeWith(Promise.resolve(completion as unknown as CallCompletion))
        const { tool_name, tool_call_id } = entry.event
        const observation = { kind: 'WorkingObservation', content: [] }
        yield { kind: 'ObservationEvent', action_id: entry.id, tool_name, tool_call_id, observation }
      }
    })
    await conversation.run(step)
    await expect.poll(() => working(conversation)).toEqual([])
    const { log } = await conversation.state()
    expect(findEventIn(log, 'a-completion')?.event).toMatchObject({
      llm_message: { completes: { outcome: 'failed' } },
    })
    await engine.close()
  })

  it.each([
    ['a ColloquyError', new ColloquyError('store_unavailable', 'The database is away.')],
    ['a TypeError', new TypeError('fetch failed')],
  ])('a call completes after the store failed for a second with %s', async (_, error) => {
    const store = makeStore()
    let awayUntil = 0
    let attempts = 0
    const { engine, conversation } = await startConversation(
      'hello',
      wrapStore(store, {
        append: async (id, events, options) => {
          if (!JSON.stringify(events).includes('the report')) return store.append(id, events, options)
          attempts += 1
          awayUntil ||= performance.now() + 1_000
          if (performance.now() < awayUntil) throw error
          return store.append(id, events, options)
        },
      }),
    )
    const { step } = stepWith({ execute: async () => background(Promise.resolve('the report')) }, [call('a')])
    await conversation.run(step)
    await expect.poll(() => working(conversation)).toEqual([])
    expect(await logOf(conversation)).toContain('environment: the report')
    expect(attempts).toBeLessThanOrEqual(8)
    await engine.close()
  })

  it('a call completes on its branch while HEAD is elsewhere, and on others when they run', async () => {
    const { engine, conversation } = await startConversation('hello', makeStore())
    const end = gate()
    const scripted = stepWith(
      { background: true, execute: async () => (await end.pass(), 'the report') },
      [call('a')],
      [says('started')],
    )
    await conversation.run(scripted.step)
    const [second] = await conversation.sendMessage('second')
    await conversation.run(scripted.step)
    await conversation.navigate(null)
    await conversation.sendMessage('elsewhere')
    const head = (await conversation.state()).log.head?.id
    end.open()
    await expect.poll(async () => (await logOf(conversation)).includes('environment: the report')).toBe(true)
    const state = await conversation.state()
    expect(state.log.head?.id).toBe(head)
    expect(listWorkingCalls(state)).toEqual([])
    // The branch before the second message shares the call, which stays in progress there until a run.
    await conversation.editAndResend(String(second?.id), 'other second')
    expect(await working(conversation)).toEqual(['a'])
    await conversation.run(scripted.step, { until: 'settled' })
    expect(await working(conversation)).toEqual([])
    expect(sent(scripted)).toContain('the report')
    await engine.close()
  })
})

it('each progress report costs the same, however long a run waits until all is settled', async () => {
  const { engine, conversation } = await startConversation()
  const end = gate()
  const scripted = stepWith(
    { background: true, execute: async () => (await end.pass(), 'done') },
    [call('a')],
    [says('started')],
    [says('done')],
  )
  const run = conversation.run(scripted.step, { until: 'settled' })
  await conversation.waitFor('finished')
  /** Milliseconds of this thread for 500 reports. */
  const report = async (): Promise<number> => {
    const before = process.threadCpuUsage()
    for (let count = 0; count < 500; count += 1) await conversation.reportProgress('a', { progress: count })
    const { user } = process.threadCpuUsage(before)
    return user / 1_000
  }
  await report()
  const first = await report()
  for (let count = 0; count < 12; count += 1) await report()
  const last = Math.min(await report(), await report())
  expect(last).toBeLessThan(3 * first + 25)
  end.open()
  await run
  await engine.close()
})

/** Milliseconds of this thread for each of many calls that report progress and complete. */
async function costOfCall(length: number): Promise<number> {
  const { engine, conversation } = await startConversation()
  const calls = Array.from({ length }, (_, index) => call(`a${index}`))
  const { step } = stepWith(
    { background: true, execute: async (_args, { report }) => report?.({ progress: 1 }) },
    calls,
    [says('started')],
  )
  const before = process.threadCpuUsage()
  await conversation.run(step, { until: 'settled' })
  const { user } = process.threadCpuUsage(before)
  await engine.close()
  return user / 1_000 / length
}

it('reports and completions cost the same, however many calls work', async () => {
  await costOfCall(60)
  const few = Math.max(await costOfCall(60), await costOfCall(60))
  const many = Math.min(await costOfCall(600), await costOfCall(600))
  expect(many).toBeLessThan(3 * few)
})

it('a run that takes over calls does not read the log again for each call', async () => {
  const { engine, conversation, store } = await startConversation()
  const value: Pick<StepTool, 'execute' | 'resume'> = {
    execute: async () => background(new Promise(() => undefined)),
    resume: () => new Promise(() => undefined),
  }
  const calls = Array.from({ length: 20 }, (_, index) => call(`a${index}`))
  await conversation.run(stepWith(value, calls, [says('started')]).step)
  const pauses = Array.from({ length: 2_000 }, () => ({ kind: 'PauseEvent' as const }))
  await conversation.append(pauses)
  await conversation.resume()
  await conversation.sendMessage('Go on.')
  await engine.close()
  const next = createEngine({ store })
  const again = await next.open('c')
  const { length } = (await again.state()).log.entries
  const get = vi.spyOn(Vector.prototype, 'get')
  await again.run(stepWith(value, [says('done')]).step)
  const { length: reads } = get.mock.calls
  get.mockRestore()
  expect(await working(again)).toHaveLength(20)
  expect(reads).toBeLessThan(5 * length)
  await next.close()
})
