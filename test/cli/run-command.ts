/** Runs the command line without a process: input is passed in, output is captured. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Io } from '../../src/cli/print/io.ts'
import { run } from '../../src/cli/run.ts'

export const SAMPLE = resolve(import.meta.dirname, '../../src/cli/sample.jsonl')

/** Overrides of the default: a pipe with empty standard input. */
export interface IoOptions {
  readonly stdin?: string | Uint8Array | readonly (string | Uint8Array)[]
  readonly tty?: boolean
  readonly columns?: number
  readonly env?: Readonly<Record<string, string>>
}

export interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

export async function colloquy(argv: readonly string[], options: IoOptions = {}): Promise<Outcome> {
  let out = ''
  let err = ''
  const { tty = false, columns } = options
  const io: Io = {
    stdin: chunksOf(options.stdin ?? ''),
    stdout: { isTTY: tty, columns, write: async (text) => void (out += text) },
    stderr: { isTTY: tty, columns, write: async (text) => void (err += text) },
    env: options.env ?? {},
  }
  const code = await run(argv, io)
  return { code, out, err }
}

/** Fields that tests read; each command returns some of them. */
export interface Answer {
  readonly file: string
  readonly error?: { readonly code: string; readonly message: string } | null
  readonly pending: readonly string[]
  readonly issues: readonly { readonly line: number; readonly type: string }[]
  readonly messages: readonly {
    readonly role: string
    readonly content: readonly { readonly text: string }[]
  }[]
}

/** Parses output that must consist of one JSON object per line. */
export async function runJson<T extends { readonly file: string } = Answer>(
  argv: readonly string[],
  options: IoOptions = {},
): Promise<{ code: number; all: [T, ...T[]]; err: string }> {
  const { code, out, err } = await colloquy([...argv, '--json'], options)
  if (!out.endsWith('\n')) throw new Error(`no line: ${out}`)
  const all = out
    .slice(0, -1)
    .split('\n')
    .map((line): T => JSON.parse(line))
  return { code, err, all: all as [T, ...T[]] }
}

/** The answer of `tree`. */
export interface TreeAnswer extends Answer {
  readonly events: readonly { readonly id: string; readonly parent: string | null }[]
}

async function* chunksOf(stdin: NonNullable<IoOptions['stdin']>): AsyncIterableIterator<Buffer> {
  const parts = typeof stdin === 'string' || stdin instanceof Uint8Array ? [stdin] : stdin
  for (const part of parts) yield Buffer.from(part)
}

/** Creates a folder that is deleted after the test. */
export function folder(files: Readonly<Record<string, string | Uint8Array>>): (name?: string) => string {
  const root = mkdtempSync(join(tmpdir(), 'colloquy-cli-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true })
    writeFileSync(join(root, name), content)
  }
  return (name = '') => join(root, name)
}

/** Exports the conversation `c 1` of a folder's database. */
export const runExport = (index: (name?: string) => string, ...argv: string[]): Promise<Outcome> =>
  colloquy(['export', '--db', index('x.db'), '--conversation', 'c 1', ...argv])

export const lines = (...events: readonly object[]): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('')

export const messageEvent = (id: string, text: string, more: object = {}): object => ({
  id,
  source: 'user',
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
  ...more,
  kind: 'MessageEvent',
})

export const callEvent = (id: string, command: string, more: object = {}): object => ({
  id,
  thought: [],
  action: { kind: 'TerminalAction', command },
  tool_name: 'terminal',
  tool_call_id: `call-${id}`,
  tool_call: {
    id: `call-${id}`,
    name: 'terminal',
    arguments: JSON.stringify({ command }),
    origin: 'completion',
  },
  llm_response_id: `response-${id}`,
  ...more,
  kind: 'ActionEvent',
})

export const resultEvent = (id: string, action: string, text: string, more: object = {}): object => ({
  id,
  tool_name: 'terminal',
  tool_call_id: `call-${action}`,
  action_id: action,
  observation: { kind: 'TerminalObservation', command: 'x', content: [{ type: 'text', text }] },
  ...more,
  kind: 'ObservationEvent',
})
