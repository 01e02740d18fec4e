/**
 * Files without a readable conversation are reported: other formats by name, and files that are quarantined
 * as a whole.
 */

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { fromSystem } from '../../src/cli/failure.ts'
import { runJson, colloquy, folder } from './run-command.ts'
import { makeZip } from './zip.ts'

const A = '{"id":"a","kind":"PauseEvent"}'

describe('a fully quarantined log', () => {
  const odd = '{"kind":"X"}\n{"kind":"Y"}\n{"a":1}\n'

  it.each(['messages', 'view', 'replay', 'tree', 'import --db x.db'])(
    'makes %s fail with one line',
    async (command) => {
      const pathOf = folder({ 'a.jsonl': odd, 'b.jsonl': '{"kind":"X"}' })
      const argv = command.split(' ').map((word) => (word === 'x.db' ? pathOf(word) : word))
      for (const more of [[], ['--json']]) {
        const { code, err } = await colloquy([...argv, pathOf('a.jsonl'), ...more])
        expect(code).toBe(1)
        expect(err).toBe(
          `colloquy: ${pathOf('a.jsonl')}: all 3 records were quarantined; see colloquy check\n`,
        )
      }
      expect((await colloquy([...argv, pathOf('b.jsonl')])).err).toContain(
        'the only record was quarantined; see colloquy check',
      )
    },
  )

  it('makes the command messages fail on a database too', async () => {
    const pathOf = folder({ 'a.jsonl': odd })
    const stored = ['--db', pathOf('x.db'), '--conversation', 'a']
    await colloquy(['import', pathOf('a.jsonl'), ...stored])
    const { code, err } = await colloquy(['messages', ...stored])
    expect(code).toBe(1)
    expect(err).toBe(`colloquy: a in ${pathOf('x.db')}: all 3 records were quarantined; see colloquy check\n`)
  })

  it('is reported by check as issues, and one readable event makes replay succeed', async () => {
    const pathOf = folder({ 'a.jsonl': odd, 'b.jsonl': odd + A, 'c.jsonl': '' })
    expect(await colloquy(['check', pathOf('a.jsonl')])).toMatchObject({ code: 1, err: '' })
    for (const name of ['b.jsonl', 'c.jsonl'])
      expect(await colloquy(['replay', pathOf(name)])).toMatchObject({ code: 0, err: '' })
  })
})

it('`fromSystem` reports text over the maximum length of a string', () => {
  const failure = expect.objectContaining({
    code: 'unreadable',
    message: expect.stringContaining('split it'),
  })
  try {
    Buffer.alloc(2 ** 29).toString('latin1')
  } catch (error) {
    expect(fromSystem(error)).toEqual(failure)
  }
  expect.assertions(1)
})

describe('a file in an unsupported format', () => {
  it.each<[string, Buffer, string]>([
    ['first.db', Buffer.from('SQLite format 3\0 and more'), 'is a SQLite database; use --db'],
    ['a.jsonl.gz', gzipSync(`${A}\n`), 'is compressed with gzip; unpack it first'],
    ['le.jsonl', Buffer.from(`\ufeff${A}\n`, 'utf16le'), 'is UTF-16 text; save it as UTF-8'],
    ['be.json', Buffer.from(`\ufeff${A}\n`, 'utf16le').swap16(), 'is UTF-16 text; save it as UTF-8'],
  ])('is rejected with the name of the format: %s', async (name, bytes, message) => {
    const file = folder({ [name]: bytes })(name)
    for (const [word, stdin] of [
      [file, ''],
      ['-', bytes],
    ] as const) {
      const { code, all, err } = await runJson(['check', word], { stdin })
      expect(code).toBe(1)
      expect(all[0].error).toEqual({ code: 'not_json', message: message })
      expect(err).toBe(`colloquy: ${word}: ${message}\n`)
    }
  })

  it('is rejected with a hint if it is a zip of sessions', async () => {
    const bytes = makeZip({ 'x/a.jsonl': `${A}\n` })
    const { code, err } = await colloquy(['check', folder({ 'a.zip': bytes })('a.zip')])
    expect(code).toBe(1)
    expect(err).toContain('to read a session, pass its file')
    expect((await colloquy(['check', '-'], { stdin: bytes })).err).toContain('a zip; pass it as a file')
  })
})
