/** Takes the inspector's pictures for docs/, of the sample conversation: `node test/browser/pictures.ts`. */

import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { writeInspector } from '../../src/build/library.ts'
import { openPage, startBrowser } from './browser.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** Each picture shows a tab at a position of the sample. */
const PICTURES = [{ name: 'view', position: 40, tab: 'view' }] as const
const MAX_BYTES = 200_000

const folder = mkdtempSync(join(tmpdir(), 'colloquy-pictures-'))
const html = join(folder, 'page.html')
await writeInspector(join(ROOT, 'dist/inspector/page.html'))
execFileSync(process.execPath, [
  join(ROOT, 'src/cli/main.ts'),
  'inspect',
  join(ROOT, 'src/cli/sample.jsonl'),
  '--html',
  html,
])
const browser = await startBrowser()
for (const { name, position, tab } of PICTURES) {
  const { page } = await openPage(browser, { colorScheme: 'light', width: 1280, height: 760 })
  await page.goto(`file://${html}#at=${position}`)
  await page.click(`#tab-${tab}`)
  await page.waitForTimeout(500)
  const path = join(ROOT, `docs/inspector-${name}.webp`)
  const session = await page.context().newCDPSession(page)
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 58 })
  const bytes = Buffer.from(data, 'base64')
  writeFileSync(path, bytes)
  console.log(`${path}: ${bytes.length} bytes`)
  if (bytes.length > MAX_BYTES) process.exitCode = 1
}
await browser.close()
rmSync(folder, { recursive: true, force: true })
