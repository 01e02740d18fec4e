/**
 * Prints how long the inspector takes to open logs in a browser, and the script time of one scrubber
 * step. `npm run bench:inspector` installs the browser driver first. `--quick` makes a tenth of the
 * steps; numbers replace the log lengths. Times are CPU times of the page's thread, with wall time in
 * brackets, so other load matters little. Exits with 1 when a limit is exceeded.
 */

import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildInspector } from '../src/build/library.ts'
import { inspectorPage } from '../src/inspector/index.ts'
import type { Browser, CDPSession, Page } from '../test/browser/browser.ts'
import { install } from '../test/browser/install.ts'
import { orUsage } from '../test/usage.ts'
import { machine } from './measure.ts'
import { makeEvents } from './workload.ts'

const { lengths, isQuick } = orUsage(() => {
  const { values, positionals } = parseArgs({
    options: { quick: { type: 'boolean' } },
    allowPositionals: true,
  })
  const invalid = positionals.find((word) => !/^[1-9]\d*$/.test(word))
  if (invalid !== undefined) throw new Error(`${invalid}: must be a number of events`)
  return { lengths: positionals.map(Number), isQuick: values.quick === true }
})
install()
const { openPage, startBrowser } = await import('../test/browser/browser.ts')

const LENGTHS = lengths.length > 0 ? lengths : [1_000, 30_000, 100_000]
const STEPS = isQuick ? 100 : 1000
const IDLE_STEPS = STEPS / 50
/** Maximum milliseconds: from parsing to the first display, and of script for one step. */
const LIMITS = { open: 1500, step: 8 }
/** An eighth of the measured sizes. The full sizes would make a page of 600 MB. */
const SIZES = { action: 400, observation: 1_200, systemPrompt: 24_000, message: 800 }

const quantile = (times: readonly number[], share: number): number =>
  times.toSorted((a, b) => a - b)[Math.ceil(times.length * share) - 1] ?? Number.NaN
const ms = (time: number): string => `${time.toFixed(1)} ms`

function writePage(file: string, template: string, length: number): void {
  const head = {
    title: 'bench',
    conversation: '',
    name: 'bench',
    parent: null,
    call: null,
    lines: null,
    issues: [],
    notes: [],
  }
  const log = { ...head, findings: null, facts: makeEvents(length, { sizes: SIZES }) }
  for (const piece of inspectorPage(template, [log])) appendFileSync(file, piece)
}

interface Mark {
  readonly name: string
  readonly tts?: number
  readonly ts: number
}

/** Milliseconds for parsing the log, then until it is displayed, as CPU and wall time. */
async function open(browser: Browser, page: Page, file: string): Promise<Record<'cpu' | 'wall', number[]>> {
  await browser.startTracing(page, { categories: ['blink.user_timing'] })
  await page.goto(`file://${file}`, { timeout: 120_000 })
  await page.waitForSelector('#status', { timeout: 120_000 })
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as {
    readonly traceEvents: readonly Mark[]
  }
  const markTime = (name: string, clock: 'ts' | 'tts'): number =>
    (traceEvents.find((mark) => mark.name === `colloquy:${name}`)?.[clock] ?? Number.NaN) / 1000
  const between = (clock: 'ts' | 'tts'): number[] => [
    markTime('parsed', clock) - markTime('begun', clock),
    markTime('shown', clock) - markTime('parsed', clock),
  ]
  return { cpu: between('tts'), wall: between('ts') }
}

async function scriptTime(session: CDPSession): Promise<number> {
  const { metrics } = await session.send('Performance.getMetrics')
  return 1000 * (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? Number.NaN)
}

/** Milliseconds of script from each key press until the change is drawn. */
async function steps(page: Page, session: CDPSession, key: string, count: number): Promise<number[]> {
  const times: number[] = []
  for (let step = 0; step < count; step += 1) {
    const before = await scriptTime(session)
    await page.keyboard.press(key)
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 0)))')
    times.push((await scriptTime(session)) - before)
  }
  return times
}

/** Milliseconds of script for the work that the page does while it is idle. */
async function idleSteps(page: Page, session: CDPSession, count: number): Promise<number[]> {
  const times: number[] = []
  for (let rest = 0; rest < count; rest += 1) {
    await page.keyboard.press('k')
    await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn, 0)))')
    const before = await scriptTime(session)
    await page.waitForTimeout(1000)
    times.push((await scriptTime(session)) - before)
  }
  return times
}

const folder = mkdtempSync(join(tmpdir(), 'colloquy-inspector-'))
const template = await buildInspector()
const browser = await startBrowser()
let isOverLimit = false
/** Prints a time and whether it is within its limit; NaN is not. */
function printTime(name: string, time: number, maximum: number, more = ''): void {
  if (!(time <= maximum)) isOverLimit = true
  const limit = maximum === Infinity ? '' : ` (at most ${maximum}${time <= maximum ? '' : ': EXCEEDED'})`
  console.log(`  ${name.padEnd(24)}${ms(time).padStart(10)}${limit}${more}`)
}
try {
  console.log(`${machine()}, ${browser.version()}\nProcessor times of the page thread`)
  for (const length of LENGTHS) {
    const file = join(folder, `${length}.html`)
    writePage(file, template, length)
    const { page } = await openPage(browser)
    const { cpu, wall } = await open(browser, page, file)
    console.log(`${length.toLocaleString('en')} events`)
    printTime('parse the log', cpu[0] ?? Number.NaN, Infinity, ` [${ms(wall[0] ?? 0)}]`)
    printTime('parsed to first display', cpu[1] ?? Number.NaN, LIMITS.open, ` [${ms(wall[1] ?? 0)}]`)
    const session = await page.context().newCDPSession(page)
    await session.send('Performance.enable', { timeDomain: 'threadTicks' })
    // The background searches are complete.
    await page.waitForSelector('#tab-why[data-done]', { timeout: 120_000 })
    await page.waitForSelector('#tokens[data-done]', { timeout: 120_000 })
    for (const [name, key] of [
      ['back, one event', 'k'],
      ['forward, one event', 'j'],
      ['back, twenty events', 'PageUp'],
    ] as const) {
      const times = await steps(page, session, key, STEPS)
      const [middle, limit] = [quantile(times, 0.5), quantile(times, 1)]
      printTime(
        `${name}, p99`,
        quantile(times, 0.99),
        LIMITS.step,
        `, p50 ${ms(middle)}, maximum ${ms(limit)}`,
      )
    }
    await page.keyboard.press('End')
    const times = await idleSteps(page, session, IDLE_STEPS)
    printTime('idle, p50', quantile(times, 0.5), Infinity, `, maximum ${ms(quantile(times, 1))}`)
    await page.context().close()
    rmSync(file)
  }
  process.exitCode = isOverLimit ? 1 : 0
} finally {
  await browser.close()
  rmSync(folder, { recursive: true, force: true })
}
