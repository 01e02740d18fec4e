/** Files that are quarantined as a whole are reported. */

import { describe, expect, it } from 'vitest'
import { colloquy, folder } from './world.ts'

const A = '{"id":"a","kind":"PauseEvent"}'

describe('what is quarantined whole', () => {
  const odd = '{"kind":"X"}\n{"kind":"Y"}\n{"a":1}\n'

  it.each(['messages', 'view', 'replay', 'tree', 'import --db x.db'])(
    'is told on one line by %s, as what is no JSON',
    async (command) => {
      const index = folder({ 'a.jsonl': odd, 'b.jsonl': '{"kind":"X"}' })
      const argv = command.split(' ').map((word) => (word === 'x.db' ? index(word) : word))
      for (const more of [[], ['--json']]) {
        const { code, err } = await colloquy([...argv, index('a.jsonl'), ...more])
        expect(code).toBe(1)
        expect(err).toBe(
          `colloquy: ${index('a.jsonl')}: all 3 records were quarantined; see colloquy check\n`,
        )
      }
      expect((await colloquy([...argv, index('b.jsonl')])).err).toContain(
        'the only record was quarantined; see colloquy check',
      )
    },
  )

  it('is told of a conversation in a database, too', async () => {
    const index = folder({ 'a.jsonl': odd })
    const stored = ['--db', index('x.db'), '--conversation', 'a']
    await colloquy(['import', index('a.jsonl'), ...stored])
    const { code, err } = await colloquy(['messages', ...stored])
    expect(code).toBe(1)
    expect(err).toBe(`colloquy: a in ${index('x.db')}: all 3 records were quarantined; see colloquy check\n`)
  })

  it('is what check shows anyway, and is not told of a file with one event in it', async () => {
    const index = folder({ 'a.jsonl': odd, 'b.jsonl': odd + A, 'c.jsonl': '' })
    expect(await colloquy(['check', index('a.jsonl')])).toMatchObject({ code: 1, err: '' })
    for (const name of ['b.jsonl', 'c.jsonl'])
      expect(await colloquy(['replay', index(name)])).toMatchObject({ code: 0, err: '' })
  })
})
