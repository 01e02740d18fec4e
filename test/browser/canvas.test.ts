/** The published official web page works on the service without changes. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { startBrowser } from './browser.ts'
import { PIECES } from './canvas-agent.ts'
import { type Canvas, startCanvas } from './canvas.ts'
import { longLog } from './long-log.ts'

const folder = mkdtempSync(join(tmpdir(), 'colloquy-canvas-log-'))
const RECORDED = new URL('../../../shared/logs/swebench-0535c419.jsonl', import.meta.url).pathname
const GENERATED = join(folder, 'log.jsonl')
const REPLY = PIECES.join('')
/** Notifications that are not errors. */
const NOTICE = /^(?:Creating conversation…|Settings saved\.)/

let canvas: Canvas
let browser: Browser
let page: Page
/** Notifications that the page has shown. */
let notifications: string[]
/** Errors of the console, and rejected requests. */
let problems: string[]

beforeAll(async () => {
  writeFileSync(GENERATED, longLog())
  canvas = await startCanvas({ file: existsSync(RECORDED) ? RECORDED : GENERATED, id: 'imported' })
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
  notifications = []
  problems = []
  page.on('console', (message) => {
    const { url } = message.location()
    const isOurs = !URL.canParse(url) || new URL(url).hostname === '127.0.0.1'
    if (message.type() === 'error' && isOurs && !isListing(url)) problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('response', (response) => {
    const { hostname, pathname } = new URL(response.url())
    const isRefused = response.status() === 403 && isListing(response.url())
    if (hostname === '127.0.0.1' && response.status() >= 400 && !isRefused)
      problems.push(
        `${response.request().method()} ${pathname}: ${response.status()} ${response.request().postData()}`,
      )
  })
  // The page requests fonts and sends statistics to other hosts, which are unreachable here.
  await page.route(
    ({ hostname }) => hostname !== '127.0.0.1',
    (route) => route.abort(),
  )
  await page.exposeFunction('tell', (text: string) => notifications.push(text))
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
  expect(problems).toEqual([])
  expect(new Set(notifications.filter((text) => !NOTICE.test(text)))).toEqual(new Set())
})

/**
 * Whether the page lists the files of the imported conversation. The service refuses this (403), because this
 * conversation has no workspace. The page sends the request only if it stays open long enough.
 */
const isListing = (url: string): boolean =>
  page.url().includes('/conversations/imported') && url.includes('/api/bash/execute_bash_command')

const input = (): Locator => page.locator('[contenteditable=true], textarea').first()

async function send(text: string): Promise<void> {
  await input().click()
  await page.keyboard.type(text)
  await page.keyboard.press('Enter')
}

/** Starts a conversation with a message, and returns its id once the page shows it. */
async function startConversation(text: string): Promise<string> {
  await send(text)
  await page.waitForURL(/\/conversations\/[^/]+$/)
  return new URL(page.url()).pathname.split('/').at(-1) ?? ''
}

const element = (text: string): Locator => page.getByText(text, { exact: true })

const statusOf = (conversation: unknown): string =>
  (conversation as { readonly execution_status: string }).execution_status

/** Waits until the page shows this number of replies. */
const waitForReplies = (count: number): Promise<void> =>
  expect.poll(() => element(REPLY).count(), { timeout: 60_000 }).toBe(count)

describe('the official web page', () => {
  it('lists conversations, and opens an imported log', async () => {
    await page.getByText('Conversation impor').first().click()
    await page.waitForURL(/\/conversations\/imported/)
    await page
      .getByText(/^(Running|Ran|Thought|Edited|Viewed)/)
      .first()
      .waitFor()
  })

  it('starts a conversation and streams the reply', async () => {
    await startConversation('hello')
    await element(REPLY).waitFor()
    await send('slow, please')
    await element(PIECES.slice(0, 2).join('')).waitFor()
    expect(await element(REPLY).count()).toBe(1)
    canvas.openGate()
    await waitForReplies(2)
  })

  it('confirms a call and rejects another', async () => {
    const id = await startConversation('hello')
    await element(REPLY).waitFor()
    await canvas.ask('POST', `/api/conversations/${id}/confirmation_policy`, {
      policy: { kind: 'AlwaysConfirm' },
    })
    await send('use the tool')
    await page.locator('button', { hasText: 'Continue' }).click()
    await element('Done it.').waitFor()
    await send('use the tool once more')
    await page.locator('button', { hasText: 'Cancel' }).click()
    await expect
      .poll(async () => statusOf(await canvas.ask('GET', `/api/conversations/${id}`)), { timeout: 60_000 })
      .toBe('idle')
    await send('never mind')
    await waitForReplies(2)
  })

  it('shows a file in the folder that the service proposed', async () => {
    const id = await startConversation('hello')
    await element(REPLY).waitFor()
    const command = 'git init -q . && echo seen > seen.txt'
    await canvas.ask('POST', `/api/conversations/${id}/bash/execute_bash_command`, { command })
    await page.reload()
    await element('seen.txt').first().waitFor()
  })

  it.each([
    ['condenser', 'condenser.enabled', () => ({ agent_settings: { condenser: { enabled: false } } })],
    ['verification', 'confirmation_mode', () => ({ conversation_settings: { confirmation_mode: true } })],
  ] as const)('saves a setting on the %s page', async (name, field, expected) => {
    const before = await canvas.ask('GET', '/api/settings')
    expect(before).not.toMatchObject(expected())
    await page.goto(`${canvas.url}/settings/${name}`)
    const input = page.getByTestId(`sdk-settings-${field}`)
    await page.locator('label', { has: input }).click()
    await page.getByRole('button', { name: 'Save Changes' }).click()
    await expect.poll(() => canvas.ask('GET', '/api/settings')).toMatchObject(expected())
    await canvas.ask('PATCH', '/api/settings', {
      agent_settings_diff: { condenser: null },
      conversation_settings_diff: { confirmation_mode: null },
    })
  })

  it('stops a reply', async () => {
    const id = await startConversation('hello')
    await element(REPLY).waitFor()
    await send('slow, please')
    await element(PIECES.slice(0, 2).join('')).waitFor()
    await page.getByTestId('stop-button').click()
    await expect
      .poll(async () => statusOf(await canvas.ask('GET', `/api/conversations/${id}`)), { timeout: 60_000 })
      .toBe('paused')
  })

  it('continues a reply after the service is killed and restarted', async () => {
    await startConversation('hello')
    await element(REPLY).waitFor()
    await send('slow, please')
    await element(PIECES.slice(0, 2).join('')).waitFor()
    expect(problems).toEqual([])
    await canvas.restart()
    canvas.openGate()
    await waitForReplies(2)
    await send('are you there?')
    await waitForReplies(3)
    // The page reports the requests that failed while the service was down.
    problems = []
  })
})
