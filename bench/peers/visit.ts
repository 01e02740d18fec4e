/** Measures each kind of work of one contender at one length, in microseconds. */

import type { Contender, PageName, Location } from './contender.ts'
import type { Work } from './figures.ts'
import { history, type Item, charactersOfItems, charactersOfPrompt, take, TURN } from './items.ts'

export type Samples = Partial<Record<Work, number[]>>

/** Maximum repetitions of one kind of work in one visit. */
const MAX_REPETITIONS = 5

/**
 * Fills a history and does each kind of work on it.
 * @param timeBudget milliseconds for repeating one kind of work
 * @throws Error when a contender's prompt differs from its events
 */
export async function visit(
  contender: Contender,
  length: number,
  database: Location,
  timeBudget: number,
): Promise<Samples> {
  const samples: Samples = {}
  const add = (work: Work, micros: number): void => void (samples[work] ??= []).push(micros)
  const items = history(length)
  // The history ends with a user's message, so that the model is called next.
  const appended: Item[] = take(items, length + 1)
  const session = await contender.open(database)
  await session.fill(appended)

  await repeat(timeBudget, async () => {
    await session.close()
    globalThis.gc?.()
    const start = performance.now()
    await session.reopen()
    const reopened = performance.now()
    const messages = await session.prompt()
    const end = performance.now()
    checkPrompt(contender, appended, messages)
    add('reopen', (reopened - start) * 1_000)
    add('reopen to prompt', (end - start) * 1_000)
    return end - start
  })
  await repeat(timeBudget, async () => {
    const [count, micros] = await timed(() => session.readAll())
    if (count !== appended.length)
      throw new Error(`${contender.family} read ${count} events of ${appended.length}`)
    add('read all', micros)
    return micros / 1_000
  })
  const pages = (await session.findPages?.(length)) ?? {}
  for (const name of ['first', 'middle', 'last'] satisfies PageName[]) {
    const page = pages[name]
    if (page === undefined) continue
    await repeat(timeBudget, async () => {
      const [count, micros] = await timed(page)
      if (count === 0) throw new Error(`${contender.family} returned an empty ${name} page`)
      add(`${name} page`, micros)
      return micros / 1_000
    })
  }
  // This work is last, since it makes the history longer.
  await repeat(timeBudget, async () => {
    const turn = take(items, TURN)
    const [, micros] = await timed(() => session.append(turn))
    appended.push(...turn)
    add('append', micros / TURN)
    const [messages, spent] = await timed(() => session.prompt())
    checkPrompt(contender, appended, messages)
    add('prompt', spent)
    return (micros + spent) / 1_000
  })
  await session.close()
  return samples
}

/** Runs at least once. @param run returns the milliseconds it took */
async function repeat(timeBudget: number, run: () => Promise<number>): Promise<void> {
  let spent = 0
  for (let times = 0; times < MAX_REPETITIONS && spent < timeBudget; times += 1) spent += await run()
}

async function timed<T>(run: () => Promise<T>): Promise<readonly [T, number]> {
  const start = performance.now()
  const result = await run()
  return [result, (performance.now() - start) * 1_000]
}

function checkPrompt({ family }: Contender, appended: readonly Item[], messages: readonly object[]): void {
  const [characters, expected] = [charactersOfPrompt(messages), charactersOfItems(appended)]
  if (messages.length !== appended.length || characters !== expected)
    throw new Error(
      `${family} wrote ${messages.length} messages of ${characters} characters for ${appended.length} events of ${expected}`,
    )
}
