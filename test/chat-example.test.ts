/** Runs the example chats against a fake provider: one with its page over loopback, one in a terminal. */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { helpfulModel } from '../src/messages/model.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { type ProviderServer, providerServer } from '../src/testing/node/provider-server.ts'
import { clientsOf, project, ROOT } from './pages.ts'

const { folder, write, remove } = project()
const file = write('chat.ts', readFileSync(join(ROOT, 'examples/chat.ts'), 'utf8'))
let provider: ProviderServer
let child: ReturnType<typeof spawn>
let url = ''

beforeAll(async () => {
  provider = await providerServer((request, number) =>
    JSON.stringify(request).includes('for ever')
      ? { says: ['On and on…'], endless: true }
      : helpfulModel(request, number),
  )
  child = spawn(process.execPath, [file], {
    cwd: folder,
    env: { ...process.env, ...clientsOf(provider.url), PORT: '0', FILE: join(folder, 'chat.db') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    url = line
    break
  }
})

afterAll(async () => {
  child.kill()
  await provider.close()
  remove()
})

/** The members of an element that the page uses. */
class FakeElement {
  readonly tag: string
  children: FakeElement[] = []
  className = ''
  textContent = ''
  value = ''
  onclick: () => unknown = () => undefined
  onsubmit: (event: object) => unknown = () => undefined

  constructor(tag: string) {
    this.tag = tag
  }

  append(child: FakeElement): void {
    this.children.push(child)
  }

  replaceChildren(): void {
    this.children = []
  }

  get lines(): string[] {
    return this.children.map(({ className, textContent }) => `${className}: ${textContent}`)
  }
}

type Script = (
  document: object,
  location: object,
  fetch: (path: string, init?: RequestInit) => Promise<Response>,
) => Promise<void>

/** Opens a conversation's page; `loaded` resolves when it has displayed the history. */
async function openPage(pathname: string) {
  const html = await (await fetch(url + pathname)).text()
  const code = /<script type="module">([^]*)<\/script>/.exec(html)?.[1] ?? ''
  const AsyncFunction = (async () => undefined).constructor as new (...args: string[]) => Script
  const elements = new Map<string, FakeElement>()
  const querySelector = (name: string): FakeElement => {
    const element = elements.get(name) ?? new FakeElement(name)
    elements.set(name, element)
    return element
  }
  const document = { querySelector, createElement: (tag: string) => new FakeElement(tag) }
  const loaded = new AsyncFunction('document', 'location', 'fetch', code)(
    document,
    { pathname },
    (path, init) => fetch(url + path, init),
  )
  const [main, form, input, stop] = ['main', 'form', 'input', '[type=button]'].map(querySelector) as [
    FakeElement,
    FakeElement,
    FakeElement,
    FakeElement,
  ]
  const send = (text: string): unknown => {
    input.value = text
    return form.onsubmit({ preventDefault: () => undefined })
  }
  return { main, send, stop, loaded }
}

it('the chat page replies, asks for approval, reloads the same lines, and stops a reply', async () => {
  const { pathname } = new URL((await fetch(url)).url)
  const page = await openPage(pathname)
  await page.loaded
  await page.send('Pick tea')
  const [user, thought, reply, call] = page.main.lines
  expect([user, thought, reply]).toEqual([
    'user text: Pick tea',
    'assistant reasoning: thought 1',
    'assistant text: I look.',
  ])
  expect(call).toMatch(/^tool: tool-pick .*approval-requested/)
  const [allow] = page.main.children.at(-1)?.children ?? []
  await allow?.onclick()
  expect(page.main.lines.at(-1)).toBe('assistant text: tea')

  const again = await openPage(pathname)
  await again.loaded
  expect(again.main.lines).toEqual(page.main.lines)

  const endless = page.send('Speak for ever') as Promise<void>
  while (!page.main.lines.some((line) => line.includes('On and'))) await new Promise(setImmediate)
  await page.stop.onclick()
  await endless
  const stopped = await openPage(pathname)
  await stopped.loaded
  expect(stopped.main.lines.join('\n')).toContain('On and on…')
  expect(page.main.lines).toEqual(stopped.main.lines)
  expect(provider.refused).toEqual([])
})

it('the chat server pauses a reply on SIGTERM and exits with 0', async () => {
  const index = join(folder, 'ended.db')
  const server = spawn(process.execPath, [file], {
    cwd: folder,
    env: { ...process.env, ...clientsOf(provider.url), PORT: '0', FILE: index },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [address] = (await once(createInterface({ input: server.stdout }), 'line')) as [string]
  const { url: chat } = await fetch(address)
  const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Speak for ever' }] }
  const reply = await fetch(chat, { method: 'POST', body: JSON.stringify({ messages: [message] }) })
  const reader = (reply.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  let received = ''
  while (!received.includes('text-delta')) {
    const { done, value = '' } = await reader.read()
    expect({ done, received }).toEqual({ done: false, received })
    received += value
  }
  const exit = once(server, 'exit')
  server.kill('SIGTERM')
  expect(await exit).toEqual([0, null])
  const store = sqliteStore({ file: index })
  const id = new URL(chat).pathname.slice(1)
  expect((await store.getConversation(id))?.status).toBe('paused')
  expect(await store.getLease(id)).toBeNull()
  expect(await store.count({ conversationId: id, text: 'On' })).toBe(1)
  await store.close()
})

it('the terminal example runs an approved command, and does not run a rejected one', async () => {
  const terminal = write('terminal.ts', readFileSync(join(ROOT, 'examples/terminal.ts'), 'utf8'))
  const runTerminal = async (
    input: string,
  ): Promise<{ readonly code: number | null; readonly output: string }> => {
    const child = spawn(process.execPath, [terminal], {
      cwd: folder,
      env: { ...process.env, ...clientsOf(provider.url), FILE: join(folder, 'terminal.db') },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    child.stdin.end(input)
    const output = await text(child.stdout)
    if (child.exitCode === null) await once(child, 'exit')
    return { code: child.exitCode, output: output }
  }
  const approved = await runTerminal('Say pwd\ny\n')
  expect(approved.code).toBe(0)
  expect(approved.output).toMatch(/shell \{"command": ?"pwd"\} \(y\/n\) /)
  expect(approved.output.split(folder)).toHaveLength(3) // the command's result, and the model's repetition of it
  const rejected = await runTerminal('Say pwd\nn\n')
  expect(rejected.code).toBe(0)
  expect(rejected.output).not.toContain(folder)
})

it('the background example replies while its calls work', async () => {
  const example = readFileSync(join(ROOT, 'examples/background.ts'), 'utf8')
  expect(example.split('\n').length).toBeLessThanOrEqual(61)
  const child = spawn(process.execPath, [write('background.ts', example)], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const output = (await text(child.stdout)).split('\n')
  const positions = [
    'user: [{"type":"text","text":"What else',
    'is done. Its result:]"},{"type":"text","text":"Sales',
  ].map((part) => output.findIndex((line) => line.includes(part)))
  expect(positions[0]).toBeGreaterThan(0)
  // The agent replies to the user before the slow call ends.
  expect(output[Number(positions[0]) + 1]).toContain('I have read')
  expect(positions[1]).toBeGreaterThan(Number(positions[0]) + 1)
  expect(output.join()).toContain('The season explains it.')
  expect(output).toContain('children: 1')
})

/** Standard output of an example. */
async function outputOf(name: string, ...args: readonly string[]): Promise<string> {
  const file = write(name, readFileSync(join(ROOT, `examples/${name}`), 'utf8'))
  const child = spawn(process.execPath, [file, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return text(child.stdout)
}

it('the chat server reports a port in use in one line', async () => {
  const second = spawn(process.execPath, [file], {
    cwd: folder,
    env: { ...process.env, PORT: new URL(url).port, FILE: join(folder, 'second.db') },
  })
  const closed = once(second, 'close')
  const error = await text(second.stderr)
  expect([error.split('\n').length, error]).toEqual([2, expect.stringContaining('uses another port')])
  expect((await closed)[0]).toBe(1)
})

it('less-disk.ts needs less than 10% of the bytes of a table of snapshots', async () => {
  const output = await outputOf('less-disk.ts', '2', '60')
  const bytes = [...output.matchAll(/: +([\d.]+) MB/g)].map(([, size]) => Number(size))
  expect(bytes).toHaveLength(2)
  expect(bytes[1]).toBeLessThan((bytes[0] ?? 0) * 0.1)
  expect(await outputOf('less-disk.ts', 'six')).toBe('')
})

it('upgrade.ts continues an active run and a log of an older producer', async () => {
  expect((await outputOf('upgrade.ts')).trim().split('\n')).toEqual([
    'the interrupted run: finished, 1 call, started once',
    expect.stringContaining('whether it took effect is not known'),
    'the old log: converted by early.condensation_llm_response_id',
    'warnings: quarantined',
    'the old log, continued: finished',
  ])
})
