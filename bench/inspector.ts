/**
 * Prints how long the inspector takes to open a log of 100,000 events in a browser, and what a step of its scrubber
 * costs in script: `npm run bench:inspector`, once `npm run build` and `npm ci` in test/browser have run.
 */

import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildInspector } from '../build/inspector.ts'
import { inspectorPage } from '../src/inspector/index.ts'
import { openPage, startBrowser } from '../test/browser/browser.ts'
import { machine } from './measure.ts'
import { makeEvents } from './workload.ts'

const EVENTS = Number(process.argv[2] ?? 100_000)
const STEPS = 1000
/** What may be taken: milliseconds behind the parsing until the page is there, and of script for a step. */
const LIMITS = { open: 1500, step: 8 }

const part = (times: readonly number[], share: number): number =>
  times[Math.ceil(times.length * share) - 1] ?? Number.NaN
const shown = (ms: number): string => ms.toFixed(1).padStart(8)

const folder = mkdtempSync(join(tmpdir(), 'colloquy-inspector-'))
const file = join(folder, 'page.html')
/** An eighth of the measured sizes: a page of 600 MB is not what people send each other. */
const sizes = { action: 400, observation: 1_200, systemPrompt: 24_000, message: 800 }
const facts = makeEvents(EVENTS, { sizes })
const log = {
  title: 'bench',
  conversation: '',
  parent: null,
  lines: null,
  issues: [],
  notes: [],
  findings: null,
  facts,
}
for (const piece of inspectorPage(await buildInspector(), [log])) appendFileSync(file, piece)

const browser = await startBrowser()
try {
  const { page } = await openPage(browser)
  await page.goto(`file://${file}`)
  await page.waitForSelector('#status', { timeout: 120_000 })
  await page.waitForFunction("performance.getEntriesByName('colloquy:shown').length > 0")
  const at = async (name: string): Promise<number> =>
    page.evaluate((mark) => performance.getEntriesByName(mark)[0]?.startTime ?? Number.NaN, name)
  const parse = (await at('colloquy:parsed')) - (await at('colloquy:begun'))
  const open = (await at('colloquy:shown')) - (await at('colloquy:parsed'))
  const session = await page.context().newCDPSession(page)
  // In time of the processor, so that what else the machine does counts for little.
  await session.send('Performance.enable', { timeDomain: 'threadTicks' })
  const scriptTime = async (): Promise<number> => {
    const { metrics } = await session.send('Performance.getMetrics')
    return 1000 * (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? Number.NaN)
  }
  /** Milliseconds of script for each of some steps. */
  const steps = async (key: string): Promise<number[]> => {
    const found: number[] = []
    for (let step = 0; step < STEPS; step += 1) {
      const before = await scriptTime()
      await page.keyboard.press(key)
      await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 0)))')
      found.push((await scriptTime()) - before)
    }
    return found.toSorted((a, b) => a - b)
  }
  // What is looked for in the background is found by now.
  await page.waitForSelector('#tab-why[data-done]', { timeout: 120_000 })
  console.log(`${machine()}\n${EVENTS.toLocaleString('en')} events, ${browser.version()}`)
  console.log(`parse the log        ${shown(parse)} ms`)
  console.log(`then until it shows  ${shown(open)} ms (at most ${LIMITS.open})`)
  let isOver = !(open <= LIMITS.open)
  for (const [name, key] of [
    ['back, one event', 'k'],
    ['on, one event', 'j'],
    ['back, twenty events', 'PageUp'],
  ] as const) {
    const times = await steps(key)
    const p99 = part(times, 0.99)
    isOver ||= !(p99 <= LIMITS.step)
    console.log(
      `${name.padEnd(20)} ${shown(part(times, 0.5))} ms in the middle,${shown(p99)} ms at p99 (at most ${LIMITS.step}),${shown(part(times, 1))} ms at most`,
    )
  }
  process.exitCode = isOver ? 1 : 0
} finally {
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
}
