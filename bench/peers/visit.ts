/** Measures everything that one contender does at one length, in microseconds. */

import type { Contender, PageName, Place } from './contender.ts'
import type { Work } from './figures.ts'
import { history, type Item, lettersOfItems, lettersOfPrompt, take, TURN } from './items.ts'

export type Samples = Partial<Record<Work, number[]>>

/** Maximum repetitions of one kind of work in one visit. */
const MOST = 5

/**
 * Fills a history and does each kind of work on it.
 * @param longest milliseconds for repeating one kind of work
 * @throws Error when a contender's prompt differs from its events
 */
export async function visit(
  contender: Contender,
  length: number,
  database: Place,
  longest: number,
): Promise<Samples> {
  const samples: Samples = {}
  const add = (work: Work, micros: number): void => void (samples[work] ??= []).push(micros)
  const items = history(length)
  // The history ends with a user's message, so that the model is called next.
  const messagesSoFar: Item[] = take(items, length + 1)
  const session = await contender.open(database)
  await session.fill(messagesSoFar)

  await repeat(longest, async () => {
    await session.leave()
    globalThis.gc?.()
    const start = performance.now()
    await session.reopen()
    const reopened = performance.now()
    const messages = await session.prompt()
    const end = performance.now()
    check(contender, messagesSoFar, messages)
    add('reopen', (reopened - start) * 1_000)
    add('reopen to prompt', (end - start) * 1_000)
    return end - start
  })
  await repeat(longest, async () => {
    const [count, micros] = await timed(() => session.readAll())
    if (count !== messagesSoFar.length)
      throw new Error(`${contender.family} read ${count} events of ${messagesSoFar.length}`)
    add('read all', micros)
    return micros / 1_000
  })
  const pages = (await session.findPages?.(length)) ?? {}
  for (const name of ['first', 'middle', 'last'] satisfies PageName[]) {
    const page = pages[name]
    if (page === undefined) continue
    await repeat(longest, async () => {
      const [count, micros] = await timed(page)
      if (count === 0) throw new Error(`${contender.family} found nothing on its ${name} page`)
      add(`${name} page`, micros)
      return micros / 1_000
    })
  }
  // Last, since it makes the history longer.
  await repeat(longest, async () => {
    const turn = take(items, TURN)
    const [, micros] = await timed(() => session.append(turn))
    messagesSoFar.push(...turn)
    add('append', micros / TURN)
    const [messages, spent] = await timed(() => session.prompt())
    check(contender, messagesSoFar, messages)
    add('prompt', spent)
    return (micros + spent) / 1_000
  })
  await session.leave()
  return samples
}

/** Runs at least once. @param run returns the milliseconds it took */
async function repeat(longest: number, run: () => Promise<number>): Promise<void> {
  let spent = 0
  for (let times = 0; times < MOST && spent < longest; times += 1) spent += await run()
}

async function timed<T>(run: () => Promise<T>): Promise<readonly [T, number]> {
  const start = performance.now()
  const result = await run()
  return [result, (performance.now() - start) * 1_000]
}

function check({ family }: Contender, messagesSoFar: readonly Item[], messages: readonly object[]): void {
  const [letters, expected] = [lettersOfPrompt(messages), lettersOfItems(messagesSoFar)]
  if (messages.length !== messagesSoFar.length || letters !== expected)
    throw new Error(
      `${family} wrote ${messages.length} messages of ${letters} letters for ${messagesSoFar.length} events of ${expected}`,
    )
}
