/** The inspector in a real browser: navigation, hostile logs, field bugs, accessibility, and the served page. */

import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { writeInspector } from '../../src/build/library.ts'
import { createEngine } from '../../src/conversation/index.ts'
import type { Step } from '../../src/conversation/run/step.ts'
import { completionMessage } from '../../src/event/completion.ts'
import type { Event } from '../../src/event/types.ts'
import { loadLine } from '../../src/event/load.ts'
import { executeCalls } from '../../src/steps/step-of.ts'
import { type StepTool, subagent } from '../../src/steps/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { call, gate, type Gate, says, script } from '../conversation/script.ts'
import { FIELD_BUGS } from '../explain/field-bugs.ts'
import { AXE, openPage, startBrowser, type OpenedPage } from './browser.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const MAIN = join(ROOT, 'src/cli/main.ts')
const SAMPLE = join(ROOT, 'src/cli/sample.jsonl')
const folder = mkdtempSync(join(tmpdir(), 'colloquy-browser-'))
let browser: Browser

beforeAll(async () => {
  await writeInspector(join(ROOT, 'dist/inspector/page.html'))
  browser = await startBrowser()
})

afterAll(async () => {
  await browser?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function colloquy(...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, ...args], { maxBuffer: 1 << 26 })
  return stdout
}

/** Writes a file with these lines. */
function fileOf(name: string, events: readonly unknown[]): string {
  const file = join(folder, name)
  writeFileSync(
    file,
    events.map((event) => `${typeof event === 'string' ? event : JSON.stringify(event)}\n`).join(''),
  )
  return file
}

/** Writes the page of these logs to a file and opens it. */
async function openFiles(
  files: readonly string[],
  hash = '',
  options: Parameters<typeof openPage>[1] = {},
): Promise<OpenedPage> {
  const html = join(folder, 'page.html')
  await colloquy('inspect', ...files, '--html', html, '--force')
  const openedPage = await openPage(browser, options)
  await openedPage.page.goto(`file://${html}${hash}`)
  await openedPage.page.waitForSelector('#status')
  return openedPage
}

const TABS = ['view', 'sent', 'event', 'why', 'cost', 'what-if', 'calls']

/** Returns a message of the user. */
const userMessage = (id: string, text: string) => ({
  kind: 'MessageEvent',
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
})

const workingResult = (id: string, more: object = {}): object => ({
  kind: 'ObservationEvent',
  tool_name: 'report',
  tool_call_id: id,
  action_id: id,
  observation: { kind: 'WorkingObservation', ...more },
})
const progress = (action_id: string, value: object): object => ({
  kind: 'ConversationStateUpdateEvent',
  key: 'call_progress',
  value: { action_id, ...value },
})
const completion = (id: string, outcome: 'done' | 'lost'): Event =>
  completionMessage({ id, event: call(id, 'report') }, [{ type: 'text', text: 'Sales.' }], outcome)

const status = (page: Page): Promise<string | null> => page.textContent('#status')
const positionOf = async (page: Page): Promise<number> => Number(await page.inputValue('.scrub input'))

describe('a page opened from a file', () => {
  it('shows the view and the messages of the command, and makes no request', async () => {
    const { page, problems, requests } = await openFiles([SAMPLE])
    expect(await status(page)).toBe('waiting for confirmation')
    const view = JSON.parse(await colloquy('view', SAMPLE, '--json')) as { readonly view: readonly string[] }
    const itemCount = await page.locator('#panel .unit:not(.pending) .item').count()
    expect(itemCount).toBe(view.view.length)
    await page.locator('.rows').focus()
    for (let step = 0; step < 26; step += 1) await page.keyboard.press('ArrowUp')
    expect(await positionOf(page)).toBe(21)
    expect(await status(page)).toBe('paused')
    await page.keyboard.press('Home')
    expect(await positionOf(page)).toBe(0)
    await page.keyboard.press('End')
    await page.click('#tab-sent')
    for (const form of ['anthropic', 'openai-chat', 'google']) {
      await page.selectOption('#panel select', form)
      const text = JSON.parse(await colloquy('messages', SAMPLE, '--format', form, '--json'))
      const messages = text.messages.messages ?? text.messages.contents ?? text.messages
      await page.getByText(`${messages.length} messages`, { exact: true }).waitFor()
    }
    expect(problems).toEqual([])
    expect(requests.filter((url) => !/^(?:file|blob):/.test(url))).toEqual([])
  })

  it('opens a linked event, searches by text and kind, and previews a condensation', async () => {
    const { page, problems } = await openFiles([SAMPLE], '#event=01KJW231RR1SZVFR3RBMMKVEXK')
    expect(await positionOf(page)).toBe(40)
    await page.fill('#search', 'next high water')
    await page.getByText(/\d+ found/).waitFor()
    expect(await page.locator('.row').count()).toBeLessThan(10)
    await page.fill('#search', '')
    await page.click('.menu summary')
    await page.getByLabel(/^ObservationEvent/).uncheck()
    await page.getByText(/\d+ found/).waitFor()
    expect(await page.locator('.row .role', { hasText: /^result$/ }).count()).toBe(0)
    await page.click('#tab-event')
    await page.getByText('In the view here').waitFor()
    expect(await page.textContent('#panel pre')).toMatch(/"kind": "ObservationEvent"/)
    await page.click('#tab-sent')
    await page.keyboard.press('Escape')
    await page.fill('.scrub input', '32')
    await page.getByText(/The prefix has changed at/).waitFor()
    await page.getByText(/\(condense\) caused this/).waitFor()
    await page.click('#tab-what-if')
    const before = await page.textContent('.facts >> nth=0')
    await page.getByText('Condense by plan').click()
    await page.getByText('State after the change').waitFor()
    expect(await page.textContent('.facts >> nth=0')).toBe(before)
    expect(problems).toEqual([])
  })

  it('shows a hostile log as text, and runs no script of it', async () => {
    const attack = '</script><script>window.done=1</script><img src=x onerror="window.done=1"><!--<script>${}'
    const call = { id: attack, name: attack, arguments: attack, origin: 'completion' }
    const log = fileOf('hostile.jsonl', [
      userMessage(attack, attack),
      userMessage('b', `javascript:window.done=1 \u202egnp.exe \u0000 ${'</'.repeat(50)}`),
      {
        kind: 'ActionEvent',
        id: 'c',
        thought: [],
        action: null,
        tool_name: attack,
        tool_call_id: attack,
        tool_call: call,
        llm_response_id: attack,
      },
      { kind: attack, id: 'd', __proto__: attack },
      `${attack} no JSON {"encrypted_content": "SECRET"`,
      {
        ...userMessage('e', 'x'),
        llm_message: {
          role: 'assistant',
          content: [],
          responses_reasoning_item: { id: 'r', encrypted_content: 'SECRET' },
        },
        source: 'agent',
      },
    ])
    const { page, problems, requests } = await openFiles([log])
    for (const tab of TABS) {
      await page.click(`#tab-${tab}`)
      for (const position of ['1', '3', '6']) await page.fill('.scrub input', position)
    }
    await page.click('#tab-view')
    expect(await page.getByText('<img src=x onerror=').count()).toBeGreaterThan(0)
    expect(await page.evaluate('window.done')).toBe(undefined)
    expect(await page.locator('img, iframe, object').count()).toBe(0)
    expect(requests.filter((url) => !/^(?:file|blob):/.test(url))).toEqual([])
    expect(problems).toEqual([])
    expect(readFileSync(join(folder, 'page.html'), 'utf8')).not.toContain('SECRET')
  })

  it('names the cause of each field bug on its first screen', async () => {
    const files = FIELD_BUGS.map(({ name, log }) => fileOf(`${name.replaceAll(/\W+/g, '-')}.jsonl`, log))
    const { page, problems } = await openFiles(files)
    for (const [index, { name, pattern }] of FIELD_BUGS.entries()) {
      await page.selectOption('.bar select', String(index))
      await page.waitForFunction(
        (title) => document.querySelector('h1')?.textContent === title,
        `${name.replaceAll(/\W+/g, '-')}.jsonl`,
      )
      const result = page.locator('.found li').first()
      expect(await result.textContent(), name).toMatch(pattern)
      expect(await result.isVisible()).toBe(true)
    }
    expect(problems).toEqual([])
  })

  it('sums the cost of a conversation with its children', async () => {
    const reply = { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] }
    const text = (id: string, input: number) => ({
      kind: 'MessageEvent',
      id,
      source: 'agent',
      llm_message: { ...reply, reply: { model: 'm', usage: { input_tokens: input, output_tokens: 1 } } },
    })
    const db = join(folder, 'family.db')
    const store = sqliteStore({ file: db })
    for (const [id, parent] of [
      ['root', null],
      ['child', 'root'],
      ['grandchild', 'child'],
      ['other', null],
    ] as const) {
      await store.createConversation({ id, parentConversationId: parent })
      const lines = [userMessage(`${id}-1`, 'Go'), text(`${id}-2`, 1000)].map((line) => JSON.stringify(line))
      await store.append(
        id,
        lines.map((line) => loadLine(line).fact),
      )
    }
    await store.close()
    const html = join(folder, 'family.html')
    await colloquy('inspect', '--db', db, '--conversation', 'root', '--html', html)
    const { page } = await openPage(browser)
    await page.goto(`file://${html}`)
    await page.click('#tab-cost')
    await page.getByText('2 of 2 conversations are counted').waitFor()
    const sum = page.locator('tr', { hasText: 'with its children' })
    expect(await sum.locator('td').nth(1).textContent()).toBe('3,000')
    await page.goto(`file://${html}#event=none-such`)
    await page.reload()
    await page.getByText('which is not in this log').waitFor()
  })

  it('shows working calls at three positions of a hostile log, and 3,000 working calls', async () => {
    const lines = [
      userMessage('m', 'Report'),
      { ...completion('none', 'done'), id: 'of no call' },
      call('a', 'report'),
      workingResult('a', { task: { job: '</script><b>' } }),
      progress('none', { progress: 1 }),
      progress('a', { progress: 0.42, content: 'reading \u202e' }),
      call('b', 'report', { llm_response_id: 'r2' }),
      workingResult('b'),
      completion('a', 'lost'),
      { ...completion('a', 'done'), id: 'again' },
    ]
    const many = Array.from({ length: 3000 }, (_, n) => [
      call(`m${n}`, 'report'),
      workingResult(`m${n}`),
    ]).flat()
    const files = [fileOf('calls.jsonl', lines), fileOf('many.jsonl', [userMessage('m', 'Report'), ...many])]
    const { page, problems } = await openFiles(files)
    await page.getByText('1 working call', { exact: true }).waitFor()
    await page.keyboard.press('7')
    const rows = page.locator('#calls tbody tr')
    await page.getByText('2 background calls of the branch').waitFor()
    expect(await rows.nth(0).innerText()).toMatch(
      /^report\s+lost\s+#4\s+#9\s+42% reading �\s+\{"job":"<\/script><b>"\}/,
    )
    expect(await rows.nth(1).innerText()).toMatch(/^report\s+working\s+#8\s*$/)
    // Rows 7 and 8 have the lanes of both calls. In row 9 only one call still works.
    expect(await page.locator('.row >> nth=7 >> .calls .lane').count()).toBe(2)
    expect(await page.locator('.row >> nth=8 >> .calls .lane').count()).toBe(2)
    expect(await page.locator('.row >> nth=9 >> .calls .lane').count()).toBe(1)
    await page.fill('.scrub input', '4')
    await page.getByText('1 background call of the branch').waitFor()
    expect(await rows.nth(0).innerText()).toMatch(/^report\s+working\s+#4/)
    await page.fill('.scrub input', '2')
    await page.getByText('0 background calls of the branch').waitFor()
    await page.selectOption('.bar select', '1')
    await page.getByText('3,000 working calls').waitFor()
    await page.click('#tab-calls')
    await page.getByText('2,800 earlier calls not shown').waitFor()
    expect(await rows.count()).toBe(200)
    expect(await page.locator('.row >> nth=5 >> svg.calls').getAttribute('width')).toBe('48')
    expect(problems).toEqual([])
  })

  it('links a subagent call to its conversation and back, and names an absent parent', async () => {
    const db = join(folder, 'subagents.db')
    const store = sqliteStore({ file: db })
    const engine = createEngine({ store })
    const parent = await engine.create({ id: 'parent' })
    await parent.sendMessage('Find out')
    await parent.run(stepWith(helperTool(script([[says('Found.')]]).step), [helperCall('a')]), {
      until: 'settled',
    })
    const child = (await parent.children())[0]?.id ?? ''
    await engine.close()
    await store.close()
    const html = join(folder, 'subagents.html')
    const write = (id: string): Promise<string> =>
      colloquy('inspect', '--db', db, '--conversation', id, '--html', html, '--force')
    await write('parent')
    const { page, problems } = await openPage(browser)
    await page.goto(`file://${html}#event=a`)
    await page.waitForSelector('#status')
    await page.click('#tab-event')
    await page.locator('#panel dl button', { hasText: 'helper' }).click()
    await page.locator('.row', { hasText: 'Found.' }).waitFor()
    await page.locator('#parent button').click()
    await page.locator('#picked', { hasText: 'helper' }).waitFor()
    await page.click('#tab-calls')
    await page.locator('#subagents button', { hasText: 'helper' }).click()
    await page.locator('.row', { hasText: 'Found.' }).waitFor()
    await write(child)
    await page.goto('about:blank')
    await page.goto(`file://${html}`)
    await page.locator('#parent', { hasText: 'parent, which is not on this page' }).waitFor()
    expect(problems).toEqual([])
  })

  it('has no serious accessibility violation in light or dark mode', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await openFiles([SAMPLE], '#at=32', { colorScheme })
      // The page's policy blocks other scripts, so the debugger injects this one.
      const session = await page.context().newCDPSession(page)
      await session.send('Runtime.evaluate', { expression: AXE })
      for (const tab of TABS) {
        await page.click(`#tab-${tab}`)
        const result = (await page.evaluate('axe.run().then(({ violations }) => violations)')) as readonly {
          readonly id: string
          readonly impact: string
          readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
        }[]
        const serious = result.filter(({ impact }) => impact === 'serious' || impact === 'critical')
        expect(
          serious.map(({ id, nodes }) => [id, tab, colorScheme, nodes[0]?.html, nodes[0]?.failureSummary]),
        ).toEqual([])
      }
    }
  })
})

const helperCall = (id: string): Event =>
  call(id, 'helper', { action: { kind: 'helperAction', task: 'Look.' }, llm_response_id: `r-${id}` })

const helperTool = (step: Step, background = true): StepTool =>
  subagent({ name: 'helper', description: 'Helps.', step, background })

const stepWith = (tool: StepTool, ...replies: Parameters<typeof script>[0]): Step =>
  script(replies, (input) => executeCalls(input, new Map([[tool.name, tool]]), {})).step

const slowStep = ({ pass }: Gate): Step =>
  script([
    async function* () {
      await pass()
      yield says('Found.')
    },
  ]).step

/** Starts the command and waits until it prints its address. */
async function startCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ url: string; stop: () => void }> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, ...env },
  })
  const url = await new Promise<string>((result, reject) => {
    let out = ''
    child.once('exit', () => reject(new Error(`ended: ${out}`)))
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      const address = / at (http:\S+)\n/.exec(out)?.[1]
      if (address !== undefined) result(address)
    })
  })
  return { url, stop: () => void child.kill() }
}

describe('a served page', () => {
  it('has both conversations of a database, and rejects a foreign host with 403', async () => {
    const db = join(folder, 'some.db')
    await colloquy('import', SAMPLE, '--db', db, '--conversation', 'one')
    await colloquy('import', SAMPLE, '--db', db, '--conversation', 'two')
    const { url, stop } = await startCommand(['inspect', '--db', db])
    try {
      const statusOfForeignHost = await new Promise<number | undefined>((status) =>
        get(url, { headers: { host: 'evil.example' } }, (response) => status(response.resume().statusCode)),
      )
      expect(statusOfForeignHost).toBe(403)
      const { page, problems } = await openPage(browser)
      await page.goto(url)
      await page.waitForSelector('#status')
      expect(await page.locator('.bar option').count()).toBe(2)
      await page.selectOption('.bar select', '1')
      await page.waitForSelector('#status')
      expect(await status(page)).toBe('waiting for confirmation')
      expect(problems).toEqual([])
    } finally {
      stop()
    }
  })

  it('shows working calls of a service live, and links to a subagent created later', async () => {
    const db = join(folder, 'live.db')
    const store = sqliteStore({ file: db })
    const engine = createEngine({ store })
    const parent = await engine.create({ id: 'parent' })
    await parent.sendMessage('Find out')
    const { url, stop } = await startCommand(['serve', '--port', '0', '--db', db, '--inspect'], {
      COLLOQUY_SESSION_API_KEYS: 'the-key',
    })
    try {
      const { page, problems } = await openPage(browser)
      await page.goto(`${url}/inspect`)
      await page.fill('input[type=password]', 'the-key')
      await page.click('button[type=submit]')
      await page.waitForSelector('#status')
      const [first, second] = [gate(), gate()]
      const firstRun = parent.run(stepWith(helperTool(slowStep(first), false), [helperCall('b')]))
      await page.click('#tab-calls')
      await page.locator('#subagents button', { hasText: 'helper' }).waitFor()
      await page.getByText('1 pending call', { exact: true }).waitFor()
      first.open()
      await firstRun
      await parent.sendMessage('And more')
      const run = parent.run(stepWith(helperTool(slowStep(second)), [helperCall('a')]), { until: 'settled' })
      await page.getByText('1 working call', { exact: true }).waitFor()
      await page.click('#tab-calls')
      await page.locator('#subagents li >> nth=1 >> button >> nth=1').click()
      await page.locator('h1', { hasText: /^helper$/ }).waitFor()
      await page.locator('.row', { hasText: 'Look.' }).waitFor()
      await page.locator('#parent button').click()
      await page.locator('.row', { hasText: 'Find out' }).waitFor()
      await page.click('#tab-calls')
      second.open()
      await page.locator('#calls td', { hasText: /^completed$/ }).waitFor()
      await run
      // The first request of the page has no key.
      expect(problems.filter((text) => !text.includes('401'))).toEqual([])
    } finally {
      stop()
      await engine.close()
      await store.close()
    }
  })

  it('requires the key of a service, shows new events, and searches all conversations', async () => {
    const db = join(folder, 'service.db')
    await colloquy('import', SAMPLE, '--db', db, '--conversation', 'one')
    const { url, stop } = await startCommand(
      ['serve', '--port', '0', '--db', db, '--inspect', '--full-text'],
      {
        COLLOQUY_SESSION_API_KEYS: 'the-key',
      },
    )
    try {
      const { page, requests } = await openPage(browser)
      await page.goto(`${url}/inspect`)
      await page.fill('input[type=password]', 'another')
      await page.click('button[type=submit]')
      await page.getByText('The service requires a key.').waitFor()
      await page.fill('input[type=password]', 'the-key')
      await page.click('button[type=submit]')
      await page.waitForSelector('#status')
      const before = await page.textContent('#count')
      const content = [{ type: 'text', text: 'Are you there?' }]
      await fetch(`${url}/api/conversations/one/events`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-session-api-key': 'the-key' },
        body: JSON.stringify({ role: 'user', content, run: false }),
      })
      await page.locator('.row', { hasText: 'Are you there?' }).waitFor()
      expect(await page.textContent('#count')).not.toBe(before)
      await page.click('summary:has-text("Search all")')
      await page.fill('input[name=query]', '"you there"')
      await page.press('input[name=query]', 'Enter')
      await page.locator('.hits mark', { hasText: 'you there' }).waitFor()
      await page.locator('.hits button.link').first().click()
      await page.waitForFunction(() => location.hash.includes('event='))
      expect(requests.filter((address) => address.includes('the-key'))).toEqual([])
    } finally {
      stop()
    }
  })
})
