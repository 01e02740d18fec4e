import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { parseRequest } from '../../src/cli/parse-arguments.ts'
import { colloquy, SAMPLE } from './world.ts'

describe('a command that makes no sense', () => {
  it.each([
    { argv: ['--json'], says: 'no command given' },
    {
      argv: ['check', '--db', 'mysql://h/d', '--conversation', 'c'],
      says: '--db must be a file or a postgres:// URL',
    },
    { argv: ['frobnicate'], says: "unknown command 'frobnicate'" },
    { argv: ['chek', SAMPLE], says: "unknown command 'chek': did you mean check?" },
    { argv: ['help', 'mesages'], says: "unknown command 'mesages': did you mean messages?" },
    { argv: ['xyz'], says: "unknown command 'xyz' (see" },
    {
      argv: ['conversations', '--db', 'x.db', '--limit', '-5'],
      says: '--limit must be an integer from 1 to 100',
    },
    { argv: ['serve', '--port', '-5'], says: '--port must be an integer from 0 to 65535' },
    {
      argv: ['serve', '--memory', '0'],
      says: '--memory must be an integer, in mebibytes, from 1 to 9999999',
    },
    { argv: ['toString', SAMPLE], says: "unknown command 'toString'" },
    { argv: ['check'], says: 'check needs a FILE (or - for standard input) or --db' },
    { argv: ['check', '--json'], says: 'check needs a FILE' },
    { argv: ['check', '--frob', SAMPLE], says: 'unknown option --frob' },
    { argv: ['check', '-x', SAMPLE], says: 'unknown option -x' },
    { argv: ['check', '--at', 'x', SAMPLE], says: 'check has no option --at' },
    { argv: ['view', '--at', 'x', SAMPLE], says: 'view has no option --at' },
    { argv: ['replay', '--leaf', 'x', SAMPLE], says: 'replay has no option --leaf' },
    { argv: ['tree', '--format', 'neutral', SAMPLE], says: 'tree has no option --format' },
    { argv: ['replay', SAMPLE, '--at'], says: '--at needs a value' },
    { argv: ['replay', SAMPLE, '--at='], says: '--at needs a value' },
    { argv: ['replay', '--at', '--json', SAMPLE], says: '--at needs a value' },
    {
      argv: ['search', '--db', 'x.db', '--text', '-rf'],
      says: '--text needs a value: for a value that begins with -, write --text=-x',
    },
    { argv: ['search-text', '--db', 'x.db', '--query', ' '], says: '--query must not be blank' },
    { argv: ['check', '--json=yes', SAMPLE], says: '--json accepts no value' },
    {
      argv: ['messages', '--format', 'xml', SAMPLE],
      says: "unknown --format 'xml': use one of neutral, openai-chat",
    },
    {
      argv: ['check', '--from', 'csv', SAMPLE],
      says: "unknown --from 'csv': use one of events, claude-code",
    },
    {
      argv: ['view', SAMPLE, '--leaf', 'a', '--leaf=b'],
      says: '--leaf can be used only once (see: colloquy help view)',
    },
    {
      argv: ['--at', 'view', 'replay'],
      says: 'replay needs a FILE (or - for standard input) or --db (see: colloquy help replay)',
    },
    { argv: ['search', '--text', 'view'], says: '(see: colloquy help search)' },
    { argv: ['check', '-', '-'], says: 'standard input (-) can be read only once: pass - once' },
    { argv: ['demo', SAMPLE], says: 'demo accepts no FILE' },
    { argv: ['help', 'frobnicate'], says: "unknown command 'frobnicate'" },
    { argv: ['help', 'check', 'view'], says: 'help accepts only one COMMAND' },
  ])('$argv exits with 2 and one line', async ({ argv, says }) => {
    const { code, out, err } = await colloquy(argv)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/^colloquy: [^\n]+ \(see: colloquy help[^\n]*\)\n$/)
    expect(err).toContain(says)
  })
})

describe('a request', () => {
  it('takes options anywhere, and everything after -- as a file', () => {
    expect(parseRequest(['--json', 'replay', 'a', '--at=-1', '--', '--at', '-'])).toEqual({
      command: 'replay',
      files: ['a', '--at', '-'],
      operand: null,
      options: { json: true, at: '-1' },
    })
  })

  it('has the values of its options as their types have them', () => {
    const argv = [
      'search',
      '--db=x.db',
      '--conversation',
      'c',
      '--kind',
      'PauseEvent',
      '--limit',
      '7',
      '--kind=MessageEvent',
    ]
    expect(parseRequest(argv)).toMatchObject({
      files: [],
      options: { conversation: 'c', kind: ['PauseEvent', 'MessageEvent'], limit: 7, db: { kind: 'sqlite' } },
    })
    expect(parseRequest(['why', 'a', 'e'])).toMatchObject({ files: ['a'], operand: 'e' })
  })
})

describe('help', () => {
  it.each([['help'], ['--help'], ['-h']])('%s lists every command', async (word) => {
    const { code, out, err } = await colloquy([word])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const columns = Math.max(...Object.keys(COMMANDS).map((name) => name.length))
    for (const [name, { about }] of Object.entries(COMMANDS))
      expect(out).toContain(`${name.padEnd(columns)}  ${about}`)
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(100)
  })

  it.each(Object.keys(COMMANDS))('has a page for %s', async (name) => {
    const { code, out } = await colloquy(['help', name])
    expect(code).toBe(0)
    expect(out).toContain(`Usage: colloquy ${name}`)
    if (name !== 'help') expect((await colloquy([name, '--help'])).out).toBe(out)
  })

  it.each(Object.entries(COMMANDS))('names every option of %s', async (name, { options: known }) => {
    const { out } = await colloquy([name, '--help'])
    const options = new Set(out.match(/--[a-z-]+/g))
    for (const flag of Object.keys(known)) expect(options).toContain(`--${flag}`)
  })

  it('calls what convert takes by one name each, and what may be left out so', async () => {
    const { out } = await colloquy(['help', 'convert'])
    expect(out).toContain('[--leaf EVENT_ID] [--to TARGET]')
    expect(out).toContain('TARGET is atif')
  })

  it('wins over a missing file', async () => {
    expect((await colloquy(['check', '-h'])).code).toBe(0)
    expect(await colloquy([])).toEqual(await colloquy(['--help']))
  })
})

it('--version prints the version of the package', async () => {
  const { code, out } = await colloquy(['--version'])
  expect(code).toBe(0)
  expect(out).toMatch(/^\d+\.\d+\.\d+\n$/)
})
