/**
 * The core runs anywhere: bundled for a browser it imports no Node module and needs none of Node's
 * globals (design D18).
 */

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { runInNewContext } from 'node:vm'
import { rolldown } from 'rolldown'
import { beforeAll, describe, expect, it } from 'vitest'
import { bundle, PARTS, weigh } from '../bench/sizes.ts'

const INDEX = resolve(import.meta.dirname, '../src/index.ts')
let code = ''

beforeAll(async () => {
  ;({ code } = await bundle('index.ts'))
})

describe('browser bundles', () => {
  it('the core contains no Node module', () => {
    expect(code.length).toBeGreaterThan(10_000)
    expect(code).not.toMatch(/['"`]node:|require\(|child_process/)
  })

  it('the shell hook has a separate entry, which imports only two Node modules', async () => {
    const input = resolve(import.meta.dirname, '../src/conversation/shell/shell-hook.ts')
    const build = await rolldown({ input, platform: 'node', logLevel: 'silent' })
    const { output } = await build.generate({ format: 'es' })
    await build.close()
    const names = output.flatMap((chunk) => (chunk.type === 'chunk' ? chunk.imports : []))
    expect(names.toSorted()).toEqual(['node:child_process', 'node:os'])
    // Includes neither the core nor the schemas.
    expect(output[0].code.length).toBeLessThan(50_000)
  })

  it('the steps contain no Node module, and are smaller than the core', async () => {
    const { code: steps } = await bundle('steps/index.ts')
    expect(steps).not.toMatch(/['"`]node:|require\(|child_process/)
    expect(steps.length).toBeLessThan(code.length)
  })

  it('the AI SDK entry contains no Node module', async () => {
    const { code: sdk } = await bundle('ai-sdk.ts')
    expect(sdk).toContain('x-vercel-ai-ui-message-stream')
    expect(sdk).not.toMatch(/['"`]node:|require\(|child_process/)
  })

  it('the laws contain no Node module', async () => {
    const { code: laws } = await bundle('laws/index.ts')
    expect(laws).not.toMatch(/['"`]node:|require\(|child_process/)
  })

  it('the core replays a log and writes messages with only the globals of ECMAScript', () => {
    // A new context has only the globals of ECMAScript: no process, Buffer, URL, timers or console.
    const result = runInNewContext(
      `${code};
      const lines = [
        '{"kind":"SystemPromptEvent","id":"s","system_prompt":{"text":"Be brief."},"tools":[]}',
        '{"kind":"MessageEvent","id":"m","source":"user","llm_message":{"role":"user","content":[{"text":"Hello"}]}}',
        'not json',
      ];
      const state = colloquy.replay(lines.map((line) => colloquy.loadLine(line).fact));
      JSON.stringify([
        state.header.status,
        state.log.entries.length,
        colloquy.toAnthropic(colloquy.toMessages(state)),
        colloquy.stateAt(state, 's').branch.view.length,
      ])`,
      {},
    )
    const [status, length, request, earlier] = JSON.parse(result)
    expect(status).toBe('idle')
    expect(length).toBe(3)
    expect(request.messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }])
    expect(earlier).toBe(1)
  })

  // Limits against accidents (a namespace import of the schema library costs more), not measurements.
  it('the core weighs less than 128,500 bytes', () => {
    expect(weigh(code)).toBeLessThan(128_500)
  })

  it('the exports for logs, messages and stores weigh less than 87,800 bytes', async () => {
    const index = readFileSync(INDEX, 'utf8')
    const exported = index.matchAll(
      /^export \{([^}]*)\} from '\.\/(?:event|log|view|state|messages|store)\//gm,
    )
    const names = [...exported].flatMap(([, list = '']) =>
      list
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== '' && !name.startsWith('type ')),
    )
    expect(names).toEqual(
      expect.arrayContaining(['loadLine', 'replay', 'stateAt', 'toAnthropic', 'memoryStore']),
    )
    expect(weigh((await bundle('index.ts', names)).code)).toBeLessThan(87_800)
  })

  it.each(PARTS)('the exports $names weigh less than $max bytes', async ({ entry, names, max: limit }) => {
    const { code, files } = await bundle(entry, names)
    expect(weigh(code)).toBeLessThan(limit)
    // A writer includes only its own grammar.
    const grammars = files.flatMap((file) => /^messages\/([^/]+)\//.exec(file)?.[1] ?? [])
    expect(new Set(grammars).size).toBe(names.includes('toMessages') ? 1 : 0)
    // A program that reads no lines needs no schemas, and may forbid code generation at run time.
    if (!names.includes('loadLine')) expect(code).not.toMatch(/new Function|\bFunction\(|\beval\(/)
  })
})
