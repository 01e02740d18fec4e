/** A headless Chromium for tests and pictures. Its flags let it run without a network. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type Browser, chromium, type Page } from 'playwright-core'
import { findBrowser } from './find-browser.ts'

export type { Browser, CDPSession, Page } from 'playwright-core'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** @throws Error if no browser is installed. */
export async function startBrowser(): Promise<Browser> {
  const executablePath = findBrowser()
  if (executablePath === null) throw new Error('no Chromium here: apt-get install chromium')
  return chromium.launch({ executablePath, args: FLAGS, headless: true })
}

/** A page, and what it has reported and requested. */
export interface OpenedPage {
  readonly page: Page
  /** Uncaught errors, and warnings and errors of the console. */
  readonly problems: readonly string[]
  /** URLs of all requests. */
  readonly requests: readonly string[]
}

/** Opens a page in a separate context. Default: the size of a desktop screen. */
export async function openPage(
  browser: Browser,
  options: {
    readonly width?: number
    readonly height?: number
    readonly colorScheme?: 'light' | 'dark'
  } = {},
): Promise<OpenedPage> {
  const { width = 1360, height = 860, colorScheme = 'light' } = options
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, locale: 'en-GB' })
  const page = await context.newPage()
  const problems: string[] = []
  const requests: string[] = []
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text())
  })
  page.on('request', (request) => requests.push(request.url()))
  return { page, problems, requests }
}

/** The source of axe, which checks the accessibility of a page. */
export const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
