import { expect, it } from 'vitest'
import { colloquy, folder, lines } from './run-command.ts'

const message = (id: string, text: string, second: number) => ({
  id,
  kind: 'MessageEvent',
  source: 'user',
  timestamp: `2026-01-01T00:00:0${second}Z`,
  llm_message: { role: 'user', content: [{ type: 'text', text }] },
})

it('search-text requires an index, and finds text in pages', async () => {
  const pathOf = folder({
    'one.jsonl': lines(message('m1', 'Deploy the crème', 1), message('m2', 'nothing here', 2)),
    'two.jsonl': lines(message('m3', 'deploy, then deploy again', 3)),
  })
  for (const name of ['one', 'two'])
    await colloquy(['import', pathOf(`${name}.jsonl`), '--db', pathOf('x.db')])
  const argv = ['search-text', '--db', pathOf('x.db')]
  const refused = await colloquy([...argv, '--query', 'deploy'])
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('create one with --index')])
  const first = await colloquy([...argv, '--query', 'deploy', '--index', '--json'])
  expect(first.err).toMatch(/^(?:.*indexed (\d+) of \1 events\n)?$/s)
  expect(JSON.parse(first.out).items.map(({ event_id: id }: { readonly event_id: string }) => id)).toEqual([
    'm3',
    'm1',
  ])
  const page = await colloquy([...argv, '--query', 'deploy -creme', '--json'])
  expect(JSON.parse(page.out)).toEqual({
    items: [
      {
        conversation_id: 'two',
        event_id: 'm3',
        position: 0,
        role: 'user',
        timestamp: '2026-01-01T00:00:03.000000Z',
        snippet: 'deploy, then deploy again',
        ranges: [
          [0, 6],
          [13, 19],
        ],
      },
    ],
    cursor: null,
  })
  const printed = await colloquy([...argv, '--query', 'deploy', '--rank', '--limit', '1'])
  expect(printed.out).toContain('1 event, more follow')
  expect(printed.out).toContain('deploy, then deploy again')
  expect(printed.out).toContain('For the next page, repeat the command with --cursor=')
  const empty = await colloquy([...argv, '--query', '"(', '--conversation', 'one'])
  expect([empty.code, empty.out]).toEqual([0, expect.stringContaining('nothing')])
  const unknown = await colloquy([...argv, '--query', 'deploy', '--conversation', 'three'])
  expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('no conversation "three"')])
})

it.each(['text', '"not an event"', 'deploy it'])(
  'search-text prints the line number of a hit after the line %j',
  async (line) => {
    const hit = message('hit', 'Deploy now', 4)
    const pathOf = folder({ 'log.jsonl': lines(message('first', line, 1), message('second', line, 2), hit) })
    const database = ['--db', pathOf('x.db')]
    await colloquy(['import', pathOf('log.jsonl'), ...database])
    const { out } = await colloquy(['search-text', '--query', 'now', '--index', ...database])
    const number = /#(\d+)/.exec(out)?.[1] ?? ''
    const why = await colloquy(['why', '--conversation', 'log', number, ...database])
    expect(why.out).toContain(`line ${number}, hit`)
  },
)
