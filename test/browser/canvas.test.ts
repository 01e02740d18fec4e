/** The official web page of the interface's servers, as it was published, works on the service: no line of it is changed. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startBrowser } from './browser.ts'
import { WORDS } from './canvas-agent.ts'
import { type Canvas, startCanvas } from './canvas.ts'
import { longLog } from './long-log.ts'

const folder = mkdtempSync(join(tmpdir(), 'colloquy-canvas-log-'))
const RECORDED = new URL('../../../shared/logs/swebench-0535c419.jsonl', import.meta.url).pathname
const OWN = join(folder, 'log.jsonl')
const REPLY = WORDS.join('')
/** What the page tells its user when all is well. */
const NOTICE = /^(?:Creating conversation…|Settings saved\.)/

let canvas: Canvas
let browser: Browser
let page: Page
/** What the page has told its user of errors. */
let reports: string[]
/** Errors of the console, and requests that the service refused. */
let troubles: string[]

beforeAll(async () => {
  writeFileSync(OWN, longLog())
  canvas = await startCanvas({ file: existsSync(RECORDED) ? RECORDED : OWN, id: 'imported' })
  await canvas.ask('POST', '/api/profiles/scripted', { llm: { model: 'scripted', api_key: 'none' } })
  await canvas.ask('POST', '/api/profiles/scripted/activate')
  browser = await startBrowser()
})
afterAll(async () => {
  await browser?.close()
  await canvas?.close()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach(async () => {
  canvas.closeGate()
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, locale: 'en-GB' })
  page = await context.newPage()
  reports = []
  troubles = []
  page.on('console', (message) => {
    const { url } = message.location()
    const isOurs = !URL.canParse(url) || new URL(url).hostname === '127.0.0.1'
    if (message.type() === 'error' && isOurs) troubles.push(message.text())
  })
  page.on('pageerror', (error) => troubles.push(String(error)))
  page.on('response', (response) => {
    const { hostname, pathname } = new URL(response.url())
    if (hostname === '127.0.0.1' && response.status() >= 400)
      troubles.push(
        `${response.request().method()} ${pathname}: ${response.status()} ${response.request().postData()}`,
      )
  })
  // The page asks other hosts for fonts and measures its use: none can be reached from here.
  await page.route(
    ({ hostname }) => hostname !== '127.0.0.1',
    (route) => route.abort(),
  )
  await page.exposeFunction('tell', (text: string) => reports.push(text))
  await page.addInitScript(() => {
    new MutationObserver(() => {
      for (const toast of document.querySelectorAll('[data-rht-toaster] [role=status]'))
        void (globalThis as unknown as { tell: (text: string) => void }).tell(toast.textContent ?? '')
    }).observe(document, { childList: true, subtree: true })
  })
  await page.goto(canvas.url)
  const confirm = page.getByRole('button', { name: 'Confirm preferences' })
  const skip = page.getByText('Skip for now')
  await confirm.or(skip).first().waitFor()
  if (await confirm.isVisible()) await confirm.click()
  await skip.click()
})
afterEach(async () => {
  await page.context().close()
  expect(troubles).toEqual([])
  expect(new Set(reports.filter((text) => !NOTICE.test(text)))).toEqual(new Set())
})

const box = (): Locator => page.locator('[contenteditable=true], textarea').first()

async function say(text: string): Promise<void> {
  await box().click()
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

/** Starts a conversation with a message; gives its id once the page stands at it. */
async function begin(text: string): Promise<string> {
  await say(text)
  await page.waitForURL(/\/conversations\/[^/]+$/)
  return new URL(page.url()).pathname.split('/').at(-1) ?? ''
}

const shown = (text: string): Locator => page.getByText(text, { exact: true })

const statusOf = (conversation: unknown): string =>
  (conversation as { readonly execution_status: string }).execution_status

/** Waits until so many of the replies are there. */
const replies = (count: number): Promise<void> =>
  expect.poll(() => shown(REPLY).count(), { timeout: 60_000 }).toBe(count)

describe('the official web page', () => {
  it('lists conversations, and opens an imported log', async () => {
    await page.getByText('Conversation impor').first().click()
    await page.waitForURL(/\/conversations\/imported/)
    await page
      .getByText(/^(Running|Ran|Thought|Edited|Viewed)/)
      .first()
      .waitFor()
  })

  it('starts a conversation, and shows the reply as it comes', async () => {
    await begin('hello')
    await shown(REPLY).waitFor()
    await say('slow, please')
    await shown(WORDS.slice(0, 2).join('')).waitFor()
    expect(await shown(REPLY).count()).toBe(1)
    canvas.openGate()
    await replies(2)
  })

  it('confirms and rejects calls', async () => {
    const id = await begin('hello')
    await shown(REPLY).waitFor()
    await canvas.ask('POST', `/api/conversations/${id}/confirmation_policy`, {
      policy: { kind: 'AlwaysConfirm' },
    })
    await say('use the tool')
    await page.locator('button', { hasText: 'Continue' }).click()
    await shown('Done it.').waitFor()
    await say('use the tool once more')
    await page.locator('button', { hasText: 'Cancel' }).click()
    await expect
      .poll(async () => statusOf(await canvas.ask('GET', `/api/conversations/${id}`)), { timeout: 60_000 })
      .toBe('idle')
    await say('never mind')
    await replies(2)
  })

  it('shows the files of the folder that the service proposed', async () => {
    const id = await begin('hello')
    await shown(REPLY).waitFor()
    const command = 'git init -q . && echo seen > seen.txt'
    await canvas.ask('POST', `/api/conversations/${id}/bash/execute_bash_command`, { command })
    await page.reload()
    await shown('seen.txt').first().waitFor()
  })

  it.each([
    ['condenser', 'condenser.enabled', () => ({ agent_settings: { condenser: { enabled: false } } })],
    ['verification', 'confirmation_mode', () => ({ conversation_settings: { confirmation_mode: true } })],
  ] as const)('changes the settings on the page of %s', async (name, field, expected) => {
    const before = await canvas.ask('GET', '/api/settings')
    expect(before).not.toMatchObject(expected())
    await page.goto(`${canvas.url}/settings/${name}`)
    const box = page.getByTestId(`sdk-settings-${field}`)
    await page.locator('label', { has: box }).click()
    await page.getByRole('button', { name: 'Save Changes' }).click()
    await expect.poll(() => canvas.ask('GET', '/api/settings')).toMatchObject(expected())
    await canvas.ask('PATCH', '/api/settings', {
      agent_settings_diff: { condenser: null },
      conversation_settings_diff: { confirmation_mode: null },
    })
  })

  it('stops a reply', async () => {
    const id = await begin('hello')
    await shown(REPLY).waitFor()
    await say('slow, please')
    await shown(WORDS.slice(0, 2).join('')).waitFor()
    await page.getByTestId('stop-button').click()
    await expect
      .poll(async () => statusOf(await canvas.ask('GET', `/api/conversations/${id}`)), { timeout: 60_000 })
      .toBe('paused')
  })

  it('goes on when the service is killed in the middle of a reply', async () => {
    await begin('hello')
    await shown(REPLY).waitFor()
    await say('slow, please')
    await shown(WORDS.slice(0, 2).join('')).waitFor()
    expect(troubles).toEqual([])
    await canvas.restart()
    canvas.openGate()
    await replies(2)
    await say('are you there?')
    await replies(3)
    // The page reports what the killed service did not answer.
    troubles = []
  })
})
