/** `export --redact` masks secrets in everything it writes, and changes nothing else. */

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { openZip } from '../../src/cli/input/zip.ts'
import { type Fact, loadValue } from '../../src/index.ts'
import { createStore, withStore } from './database.ts'
import { callEvent, colloquy, runExport, folder, messageEvent } from './run-command.ts'

const KEY = 'sk-ant-api03-0123456789abcdef'

const facts: readonly Fact[] = [
  messageEvent('m', `use ${KEY}`),
  {
    kind: 'MessageEvent',
    source: 'user',
    llm_message: { role: 'user', content: [{ type: 'text', text: `or ${KEY}` }] },
  },
  { id: 'x', kind: 'Odd', note: KEY },
  callEvent('a', 'ls', {
    tool_call: {
      id: 'c',
      name: 'ls',
      arguments: JSON.stringify({ password: 'hunter2' }),
      origin: 'completion',
    },
    responses_reasoning_item: { id: 'r', summary: [], encrypted_content: 'gAAAAAB' },
  }),
].map((value) => loadValue(value).fact)

async function createDatabase(): Promise<(name?: string) => string> {
  const pathOf = folder({})
  await createStore(pathOf('x.db'), 'c 1', facts)
  await withStore(pathOf('x.db'), (store) =>
    store.updateConversation('c 1', { title: `On ${KEY}`, metadata: { token: 'x1y2' } }),
  )
  return pathOf
}

/** Text of a file, or of all files in a directory or zip. */
async function textIn(path: string): Promise<string> {
  if (statSync(path).isDirectory())
    return (await Promise.all(readdirSync(path).map((name) => textIn(join(path, name))))).join('\n')
  const bytes = readFileSync(path)
  if (bytes.subarray(0, 2).toString() !== 'PK') return bytes.toString()
  const { paths, read } = await openZip(path, () => true)
  return (await Promise.all(paths.map(read))).join('\n')
}

describe('export --redact', () => {
  it('masks secrets on standard output, keeps ids, and removes reasoning of a masked call', async () => {
    const { code, out, err } = await runExport(await createDatabase(), '--redact')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).not.toMatch(/sk-ant|hunter2/)
    const [first, second, third, last] = out.trimEnd().split('\n')
    expect(JSON.parse(first ?? '')).toMatchObject({
      id: 'm',
      llm_message: { content: [{ text: 'use [redacted]' }] },
    })
    expect(JSON.parse(second ?? '')).toMatchObject({ id: expect.stringMatching(/^derived-1-/) })
    expect(JSON.parse(third ?? '')).toMatchObject({ id: 'x', kind: 'Odd', note: '[redacted]' })
    expect(JSON.parse(last ?? '')).toMatchObject({
      tool_call: { arguments: '{"password":"[redacted]"}' },
      responses_reasoning_item: { encrypted_content: null },
    })
  })

  it.each(['jsonl', 'directory', 'zip'])(
    'masks secrets in a %s, which imports with the same ids and parents',
    async (layout) => {
      const pathOf = await createDatabase()
      const path = pathOf(layout === 'zip' ? 'out.zip' : layout === 'jsonl' ? 'out.jsonl' : 'out')
      const { code } = await runExport(pathOf, '--format', layout, '--output', path, '--redact')
      expect(code).toBe(0)
      const text = await textIn(path)
      expect(text).toContain('[redacted]')
      expect(text).not.toMatch(/sk-ant|hunter2|x1y2/)
      await colloquy(['import', path, '--db', pathOf('y.db'), '--conversation', 'c 1'])
      const idsAndParents = (db: string) =>
        withStore(pathOf(db), async (store) =>
          (await store.read('c 1')).map(({ id, parentId }) => [id, parentId]),
        )
      expect(await idsAndParents('y.db')).toEqual(await idsAndParents('x.db'))
    },
  )

  it('removes the signatures of a reply if a later call of it is masked, even on another page', async () => {
    const reply = { llm_response_id: 'r' }
    const thinking = { type: 'thinking', thinking: 'Look.', signature: 'c2lnbmVk' }
    const log = [
      callEvent('a', 'ls', { ...reply, thinking_blocks: [thinking] }),
      ...Array.from({ length: 100 }, (_, i) => ({ kind: 'PauseEvent', id: `p${i}` })),
      callEvent('b', `curl -H ${KEY}`, reply),
      callEvent('other', 'ls', { thinking_blocks: [thinking] }),
    ].map((value) => loadValue(value).fact)
    const pathOf = folder({})
    await createStore(pathOf('x.db'), 'c 1', log)
    const { out } = await runExport(pathOf, '--redact')
    const lines = out.trimEnd().split('\n')
    expect(lines.filter((line) => line.includes('c2lnbmVk')).map((line) => JSON.parse(line).id)).toEqual([
      'other',
    ])
    expect(lines).toHaveLength(log.length)
  })
})
