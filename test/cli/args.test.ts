import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands.ts'
import { parseRequest } from '../../src/cli/parse-arguments.ts'
import { colloquy, SAMPLE } from './run-command.ts'

/** The spellings with two adjacent letters exchanged, one letter missing, or one letter twice. */
const misspellings = (name: string): string[] =>
  [...name].flatMap((letter, index) => {
    const [begin, next = '', end] = [name.slice(0, index), name[index + 1], name.slice(index + 2)]
    return [begin + next + letter + end, begin + next + end, begin + letter + letter + next + end]
  })

function errorOf(argv: readonly string[]): string {
  try {
    parseRequest(argv)
    return ''
  } catch (error) {
    return String(error)
  }
}

const long = (names: readonly string[]) => names.filter(({ length }) => length >= 4)

describe('a misspelled name of at least four letters', () => {
  const commands = Object.keys(COMMANDS)

  it.each(long(commands))('leads to the command %s', (name) => {
    for (const typed of misspellings(name).filter((each) => !commands.includes(each)))
      expect(errorOf([typed])).toContain(`unknown command '${typed}': did you mean ${name}?`)
  })

  it.each(commands)('leads to the option of %s', (command) => {
    const all = Object.values(COMMANDS).flatMap(({ options }) => Object.keys(options))
    for (const name of long(Object.keys(COMMANDS[command as keyof typeof COMMANDS].options)))
      for (const typed of misspellings(name).filter((each) => !all.includes(each)))
        expect(errorOf([command, `--${typed}`])).toContain(`--${typed}: did you mean --${name}?`)
  })
})

describe('invalid commands', () => {
  it.each([
    { argv: ['--json'], message: 'no command given' },
    {
      argv: ['check', '--db', 'mysql://h/d', '--conversation', 'c'],
      message: '--db must be a file or a postgres:// URL',
    },
    { argv: ['frobnicate'], message: "unknown command 'frobnicate'" },
    { argv: ['chek', SAMPLE], message: "unknown command 'chek': did you mean check?" },
    { argv: ['help', 'mesages'], message: "unknown command 'mesages': did you mean messages?" },
    { argv: ['xyz'], message: "unknown command 'xyz' (see" },
    {
      argv: ['conversations', '--db', 'x.db', '--limit', '-5'],
      message: '--limit must be an integer from 1 to 100',
    },
    { argv: ['serve', '--port', '-5'], message: '--port must be an integer from 0 to 65535' },
    {
      argv: ['serve', '--memory', '0'],
      message: '--memory must be an integer, in mebibytes, from 1 to 9999999',
    },
    { argv: ['toString', SAMPLE], message: "unknown command 'toString'" },
    { argv: ['check'], message: 'check needs a FILE (or - for standard input) or --db' },
    { argv: ['check', '--json'], message: 'check needs a FILE' },
    { argv: ['check', '--quux', SAMPLE], message: 'unknown option --quux (see' },
    { argv: ['check', '--frob', SAMPLE], message: 'unknown option --frob: did you mean --from? (see' },
    { argv: ['--hepl'], message: 'unknown option --hepl: did you mean --help?' },
    { argv: ['search', '--hepl'], message: 'unknown option --hepl: did you mean --help?' },
    { argv: ['check', '-x', SAMPLE], message: 'unknown option -x' },
    { argv: ['check', '--at', 'x', SAMPLE], message: 'check has no option --at' },
    { argv: ['view', '--at', 'x', SAMPLE], message: 'view has no option --at' },
    { argv: ['replay', '--leaf', 'x', SAMPLE], message: 'replay has no option --leaf' },
    { argv: ['tree', '--format', 'neutral', SAMPLE], message: 'tree has no option --format' },
    { argv: ['replay', SAMPLE, '--at'], message: '--at needs a value' },
    { argv: ['replay', SAMPLE, '--at='], message: '--at needs a value' },
    { argv: ['replay', '--at', '--json', SAMPLE], message: '--at needs a value' },
    {
      argv: ['search', '--db', 'x.db', '--text', '-rf'],
      message: '--text needs a value: for a value that begins with -, write --text=-x',
    },
    { argv: ['search-text', '--db', 'x.db', '--query', ' '], message: '--query must not be blank' },
    { argv: ['check', '--json=yes', SAMPLE], message: '--json accepts no value' },
    {
      argv: ['messages', '--format', 'xml', SAMPLE],
      message: "unknown --format 'xml': use one of neutral, openai-chat",
    },
    {
      argv: ['check', '--from', 'csv', SAMPLE],
      message: "unknown --from 'csv': use one of events, claude-code",
    },
    {
      argv: ['view', SAMPLE, '--leaf', 'a', '--leaf=b'],
      message: '--leaf can be used only once (see: colloquy help view)',
    },
    {
      argv: ['--at', 'view', 'replay'],
      message: 'replay needs a FILE (or - for standard input) or --db (see: colloquy help replay)',
    },
    { argv: ['search', '--text', 'view'], message: '(see: colloquy help search)' },
    { argv: ['check', '-', '-'], message: 'standard input can be read only once: pass `-` once' },
    { argv: ['demo', SAMPLE], message: 'demo accepts no FILE' },
    { argv: ['help', 'frobnicate'], message: "unknown command 'frobnicate'" },
    { argv: ['help', 'check', 'view'], message: 'help accepts only one COMMAND' },
  ])('$argv exits with 2 and prints one line', async ({ argv, message }) => {
    const { code, out, err } = await colloquy(argv)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(/^colloquy: [^\n]+ \(see: colloquy help[^\n]*\)\n$/)
    expect(err).toContain(message)
  })
})

describe('`parseRequest`', () => {
  it('accepts options anywhere, and treats everything after -- as a file', () => {
    expect(parseRequest(['--json', 'replay', 'a', '--at=-1', '--', '--at', '-'])).toEqual({
      command: 'replay',
      files: ['a', '--at', '-'],
      operand: null,
      options: { json: true, at: '-1' },
    })
  })

  it('parses option values by type: lists, numbers and database addresses', () => {
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

  it('puts the optional arguments of convert in brackets and explains TARGET', async () => {
    const { out } = await colloquy(['help', 'convert'])
    expect(out).toContain('[--leaf EVENT_ID] [--to TARGET]')
    expect(out).toContain('TARGET is atif')
  })

  it('is printed for -h without a FILE, and without any argument', async () => {
    expect((await colloquy(['check', '-h'])).code).toBe(0)
    expect(await colloquy([])).toEqual(await colloquy(['--help']))
  })
})

it('--version prints a version number', async () => {
  const { code, out } = await colloquy(['--version'])
  expect(code).toBe(0)
  expect(out).toMatch(/^\d+\.\d+\.\d+\n$/)
})
