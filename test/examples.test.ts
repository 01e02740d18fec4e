/** Runs the `@example` code of src/: each must run, and produce the values of its `value // result` lines. */

import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { stripTypeScriptTypes } from 'node:module'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual, inspect } from 'node:util'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { streamText } from 'ai'
import fc from 'fast-check'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

const SRC = resolve(import.meta.dirname, '../src')
const PROGRAMS = resolve(import.meta.dirname, '../examples')

interface Example {
  readonly file: string
  readonly code: string
}

/** The code under each `@example` tag, up to the next tag or the end of the docstring. */
function examplesOf(file: string): Example[] {
  const text = readFileSync(join(SRC, file), 'utf8')
  return [...text.matchAll(/@example\n([\s\S]*?)(?=\n\s*\* @|\*\/)/g)].map((match) => {
    const lines = (match[1] as string).split('\n').map((line) => line.replace(/^\s*\* ?/, ''))
    return {
      file,
      code: lines
        .filter((line) => !line.startsWith('```'))
        .join('\n')
        .trim(),
    }
  })
}

/** Turns each line `expression // result` into a check. */
function withChecks(code: string): string {
  const lines = code.split('\n').map((line) => {
    const parts = /^([^/\s].*?);?\s+\/\/ (.+)$/.exec(line)
    if (parts === null || /^(const|let|import|for|if|throw|return|try|\}|\/\/)/.test(line.trim())) return line
    return `$same(${parts[1]}, ${parts[2]})`
  })
  return lines.filter((line) => !line.startsWith('import ')).join('\n')
}

/** Fails when the value differs from the example; an ellipsis may cut a shown text. */
function same(actual: unknown, expected: unknown): void {
  const cut = typeof expected === 'string' && expected.endsWith('…') ? expected.slice(0, -1) : null
  if (cut !== null && typeof actual === 'string' && actual.startsWith(cut)) return
  if (!isDeepStrictEqual(actual, expected)) throw new Error(`${inspect(actual)} is not ${inspect(expected)}`)
}

/** The source of every entry of the package. */
const { exports } = JSON.parse(readFileSync(join(SRC, '../package.json'), 'utf8')) as {
  readonly exports: Readonly<Record<string, { readonly types?: string }>>
}
const ENTRIES = Object.values(exports).flatMap(({ types }) =>
  types === undefined ? [] : [types.replace('./dist/', '').replace('.d.ts', '.ts')],
)

/** Amazon's client is not installed, but a step accepts any client with these methods. */
class BedrockRuntime {
  converse(): void {}
  converseStream(): void {}
}

/** Names that examples use from other packages. */
const PACKAGES = { Anthropic, BedrockRuntime, GoogleGenAI, OpenAI, streamText, z }

/** The published values of all entries, by name. */
const published: Readonly<Record<string, unknown>> = Object.assign(
  {},
  ...(await Promise.all(ENTRIES.map((entry) => import(pathToFileURL(join(SRC, entry)).href)))),
)

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))
const examples = files.toSorted().flatMap(examplesOf)
const programs = globSync('**/*.ts', { cwd: PROGRAMS }).map((name) =>
  readFileSync(join(PROGRAMS, name), 'utf8'),
)

describe('examples in docstrings', () => {
  it('there are more than 20', () => {
    expect(examples.length).toBeGreaterThan(20)
  })

  it('call every published function, together with the files of examples/', async () => {
    const code = [...examples.map((example) => example.code), ...programs].join('\n')
    const called = new Set([...code.matchAll(/\b\w+(?=\()/g)].map(([name]) => name))
    const functions = Object.entries(published).filter(([, value]) => typeof value === 'function')
    expect(functions.map(([name]) => name).filter((name) => !called.has(name))).toEqual(['Conversation'])
  })

  it('every published function has a docstring', async () => {
    const functions = Object.entries(published).filter(([, value]) => typeof value === 'function')
    const text = files.map((file) => readFileSync(join(SRC, file), 'utf8')).join('\n')
    const declarations = text.matchAll(
      /\*\/\s*export (?:async )?(?:abstract )?(?:function\*? |const |class )(\w+)/g,
    )
    const documented = new Set([...declarations].map(([, name]) => name))
    expect(functions.map(([name]) => name).filter((name) => !documented.has(name))).toEqual([])
  })

  it.each(examples)('run with the shown values in $file: $code', async ({ file, code }) => {
    const moduleExports = (await import(pathToFileURL(join(SRC, file)).href)) as Record<string, unknown>
    const scope: Record<string, unknown> = {
      ...published,
      ...moduleExports,
      ...PACKAGES,
      fc,
      $same: same,
      console: strictConsole,
      it: () => undefined,
    }
    const names = Object.keys(scope)
    const body = stripTypeScriptTypes(withChecks(code), { mode: 'strip' })
    const run = new Function(...names, `return (async () => {\n${body}\n})()`)
    await run(...names.map((name) => scope[name]))
  })
})

const strictConsole = {
  ...console,
  assert(condition: boolean, message?: string): void {
    if (!condition) throw new Error(message ?? 'an assertion of the example fails')
  },
  log: () => undefined,
}
