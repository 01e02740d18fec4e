import { describe, expect, it } from 'vitest'
import { runJson, colloquy, folder, lines, messageEvent, type TreeAnswer } from './run-command.ts'

const A = '{"id":"a","kind":"PauseEvent"}'
const B = '{"id":"b","kind":"InterruptEvent"}'

const ids = async (
  file: string,
  stdin?: string | Uint8Array | readonly (string | Uint8Array)[],
): Promise<unknown> => {
  const { all } = await runJson<TreeAnswer>(['tree', file], stdin === undefined ? {} : { stdin })
  return all[0].error ?? all[0].events.map((event) => event.id)
}

describe('input formats', () => {
  it.each([
    ['lines.jsonl', `${A}\n${B}\n`],
    ['no-end.jsonl', `${A}\n${B}`],
    ['crlf.jsonl', `${A}\r\n${B}\r\n`],
    ['bom.jsonl', `\ufeff${A}\n${B}\n`],
    ['blank.jsonl', `\n\r\n${A}\n  \t\n${B}\n\n`],
    ['array.json', `[${A},${B}]`],
    ['spaced.json', ` \n[ ${A} ,\n${B}\n] \n`],
    ['bom.json', `\ufeff[${A},${B}]`],
    ['sniffed-lines.log', `\n${A}\n${B}\n`],
    ['sniffed-array.txt', `\n [${A},${B}]`],
    ['sniffed', `\ufeff[${A},${B}]`],
    ['UPPER.JSON', `[${A},${B}]`],
    ['array.jsonl', `[${A},${B}]`],
    ['page.json', `{"items":[${A},${B}],"next_page_id":null}`],
    ['page', `{"next_page_id":null,"items":[${A},${B}]}`],
    [
      'pretty-page.jsonl',
      JSON.stringify({ items: [JSON.parse(A), JSON.parse(B)], next_page_id: null }, null, 2),
    ],
    ['array-end.jsonl', ` \n[${A},${B}]\n\n`],
    ['pretty-array.jsonl', JSON.stringify([JSON.parse(A), JSON.parse(B)], null, 2)],
  ])('include %s', async (name, text) => {
    expect(await ids(folder({ [name]: text })(name))).toEqual(['a', 'b'])
  })

  it('are detected in standard input by the first character, for any chunk size', async () => {
    const page = `{"items":[${A},${B}],"next_page_id":null}`
    for (const text of [`${A}\n${B}`, `[${A},${B}]`, page, `\ufeff\n[${A},${B}]`, `\ufeff${A}\n${B}`]) {
      const bytes = Buffer.from(text)
      expect(await ids('-', text)).toEqual(['a', 'b'])
      expect(
        await ids(
          '-',
          Array.from(bytes, (byte) => Uint8Array.of(byte)),
        ),
      ).toEqual(['a', 'b'])
    }
    expect((await runJson(['replay', '-'], { stdin: A })).all[0]).toMatchObject({
      file: '-',
      events: 1,
      status: 'paused',
    })
  })

  const pretty = JSON.stringify(JSON.parse(A), null, 2)
  const request = JSON.stringify({ messages: [{ role: 'user', content: 'hi' }] }, null, 2)

  it('include a pretty-printed object, for any chunk size', async () => {
    for (const text of [pretty, `\ufeff\n\n${pretty}\r\n`]) {
      expect(await ids('-', text)).toEqual(['a'])
      expect(
        await ids(
          '-',
          Array.from(Buffer.from(text), (byte) => Uint8Array.of(byte)),
        ),
      ).toEqual(['a'])
      for (const name of ['a.jsonl', 'a.txt', 'a'])
        expect(await ids(folder({ [name]: text })(name))).toEqual(['a'])
    }
    const odd = await runJson(['check', '-'], { stdin: '\n\n{\n "id": "a",\n "kind": "Odd"}' })
    expect(odd.all[0]).toMatchObject({ issues: [{ line: 3, kind: 'Odd' }] })
    for (const argv of [[], ['--from', 'anthropic']]) {
      const { all, code } = await runJson(['messages', '-', ...argv], { stdin: request })
      expect({ code, messages: all[0].messages }).toMatchObject({ code: 0, messages: [{ role: 'user' }] })
    }
  })

  it('fall back to lines if the whole input is not a JSON document either', async () => {
    const { all, err } = await runJson(['check', '-'], { stdin: `{\n${A}\n[1,\n${B}` })
    expect(all[0]).toMatchObject({ events: 4, valid: 2 })
    expect(err).toContain('line 1 is not JSON: it and 1 other were quarantined')
    const arrays = await runJson(['check', folder({ 'a.jsonl': `[1]\n${A}\n` })('a.jsonl')])
    expect(arrays.all[0]).toMatchObject({ events: 2, valid: 1, issues: [{ line: 1 }] })
    expect(await ids('-', `${A}\n${pretty}`)).toEqual(['a'])
  })

  it('allow brackets, quotes and commas inside strings of an array', async () => {
    const text = ']},{[ \\" \\\\'
    const file = folder({ 'a.json': `[${JSON.stringify(messageEvent('a', text))},[1,[2]],"x,]"]` })('a.json')
    const { all } = await runJson(['messages', file])
    expect(all[0].messages[0]?.content[0]?.text).toBe(text)
    expect((await runJson(['check', file])).all[0]).toMatchObject({ events: 3, valid: 1 })
  })

  it('allow a line of 3 MB', async () => {
    const long = 'x'.repeat(3_000_000)
    const file = folder({ 'a.jsonl': lines(messageEvent('a', long), messageEvent('b', 'short')) })('a.jsonl')
    expect(await ids(file)).toEqual(['a', 'b'])
  })
})

describe('empty input', () => {
  it.each(['a.jsonl', 'a', 'blank.jsonl'])('%s has no events', async (name) => {
    const file = folder({ [name]: name.startsWith('blank') ? '\n \n' : '' })(name)
    expect(await runJson(['check', file])).toMatchObject({
      code: 0,
      all: [{ events: 0, valid: 0, issues: [] }],
      err: '',
    })
  })

  it.each(['page.json', 'page'])(
    '%s with a page that others follow fails, and says what to do',
    async (name) => {
      const { all } = await runJson<TreeAnswer>([
        'check',
        folder({ [name]: `{"items":[${A}],"next_page_id":"b"}` })(name),
      ])
      const message = expect.stringContaining('write the items of all pages into one array')
      expect(all[0]).toMatchObject({ error: { code: 'not_an_array', message } })
    },
  )

  it('a blank a.json fails with not_json', async () => {
    const { code, all } = await runJson(['check', folder({ 'a.json': ' \n' })('a.json')])
    expect(code).toBe(1)
    expect(all[0]).toMatchObject({ error: { code: 'not_json' } })
  })

  it('an empty array has no events', async () => {
    expect((await runJson(['check', '-'], { stdin: '[ ]' })).all[0]).toMatchObject({ events: 0 })
  })
})

describe('a directory of event files', () => {
  const files = {
    'event-00002-b.json': B,
    'event-00010-odd id.json': '{"id":"c",\n "kind":"PauseEvent"}\n',
    'event-00001-a.json': A,
    'event-100000-z.json': '{"id":"z","kind":"Odd"}',
    'event-0003-short.json': 'not read',
    'base_state.json': '{}',
    'event-00005-x.json.tmp': 'not read',
  }

  it('is read in the order of the numbers, without other files', async () => {
    const pathOf = folder(files)
    expect(await ids(pathOf())).toEqual(['a', 'b', 'c', 'z'])
    const { all } = await runJson(['check', pathOf()])
    expect(all[0].issues).toMatchObject([{ line: 100_000, kind: 'Odd' }])
  })

  it('may contain them in its subfolder events', async () => {
    const pathOf = folder(
      Object.fromEntries(Object.entries(files).map(([name, text]) => [`events/${name}`, text])),
    )
    expect(await ids(pathOf())).toEqual(['a', 'b', 'c', 'z'])
  })

  it('is read without its subfolder events if it contains event files itself', async () => {
    expect(await ids(folder({ 'event-00000-a.json': A, 'events/event-00000-b.json': B })())).toEqual(['a'])
  })

  it('fails with no_events if it contains none', async () => {
    expect(await ids(folder({ 'notes.txt': 'x' })())).toMatchObject({ code: 'no_events' })
    expect(await ids(folder({ 'events/notes.txt': 'x' })())).toMatchObject({ code: 'no_events' })
  })

  it('is read with a quarantined event for a file that is not JSON', async () => {
    const pathOf = folder({ 'event-00001-a.json': A, 'event-00002-b.json': '{"id":' })
    const { code, all, err } = await runJson(['check', pathOf()])
    expect(code).toBe(1)
    expect(all[0]).toMatchObject({
      events: 2,
      valid: 1,
      issues: [{ line: 2, kind: null, type: 'json_invalid' }],
    })
    expect(err).toMatch(/: event file 2 is not JSON: /)
  })
})

describe('input that is not JSON', () => {
  it.each([
    ['a truncated last line', `${A}\n${B}\n{"id":"c","ki`, 'line 3 is not JSON (truncated last line?): '],
    ['a line in the middle', `${A}\noops\n${B}\n`, 'line 2 is not JSON: '],
    ['two lines', `${A}\noops\n\noops`, 'line 2 is not JSON: it and 1 other were quarantined; '],
    ['many lines', `oops\noops\noops\n${A}`, 'line 1 is not JSON: it and 2 others were quarantined; '],
  ])('is reported in one line for %s, and the other events are read', async (_, text, message) => {
    const file = folder({ 'a.jsonl': text })('a.jsonl')
    for (const argv of [
      ['replay', file, '--json'],
      ['replay', file],
      ['tree', file],
    ]) {
      const { code, out, err } = await colloquy(argv)
      expect(code).toBe(1)
      expect(err).toMatch(/^colloquy: [^\n]+\n$/)
      expect(err).toContain(`a.jsonl: ${message}`)
      expect(out).toContain('paused')
    }
    expect((await runJson(['replay', file])).all[0]).toMatchObject({
      quarantined: text.match(/oops|ki$/g)?.length,
    })
  })

  it.each([
    ['a.jsonl', 'oops', 'not_json'],
    ['a.jsonl', 'oops\noops\n', 'not_json'],
    ['a.jsonl', '{"id":', 'not_json'],
    ['a.json', 'oops', 'not_json'],
    ['a.json', `[${A}`, 'not_json'],
    ['a.json', `[${A},`, 'not_json'],
    ['a.json', `[${A},]`, 'not_json'],
    ['a.json', `[,${A}]`, 'not_json'],
    ['a.json', `[${A},,${B}]`, 'not_json'],
    ['a.json', `[${A}}`, 'not_json'],
    ['a.json', `[{"a":1]]`, 'not_json'],
    ['a.json', `[${A}] x`, 'not_json'],
    ['a.json', `[${A}, oops]`, 'not_json'],
    ['a.json', `["open`, 'not_json'],
    ['a.json', `${A}\n${B}`, 'not_json'],
    ['a.json', A, 'not_an_array'],
    ['a.json', '17', 'not_an_array'],
    ['a.json', 'null', 'not_an_array'],
  ])('makes %s with the content %j fail with %s', async (name, text, code) => {
    const file = folder({ [name]: text })(name)
    for (const command of ['check', 'replay', 'view', 'messages', 'tree']) {
      const outcome = await runJson([command, file])
      expect(outcome.code).toBe(1)
      expect(outcome.all).toEqual([{ file, error: { code, message: expect.any(String) } }])
      expect(outcome.err).toMatch(/^colloquy: [^\n]+\n$/)
    }
  })
})

describe('bytes that are not UTF-8', () => {
  it('are replaced in a session, with a note', async () => {
    const lines = ['{"role":"user","content":"caf\u00e9"}', '{"role":"user","content":"ok"}']
    const pathOf = folder({ 'a.jsonl': Buffer.from(lines.join('\n'), 'latin1') })
    const { code, all } = await runJson(['replay', pathOf('a.jsonl')])
    expect(code).toBe(0)
    const notes = [{ what: 'bytes that are not UTF-8, replaced', count: 1, line: 1 }]
    expect(all[0]).toMatchObject({ events: 2, session: { format: 'openai-chat', notes } })
  })

  const bad = Buffer.concat([
    Buffer.from('{"id":"b","parent_id":"a","hook_command":"caf'),
    Buffer.from([0xe9]),
    Buffer.from('","kind":"PauseEvent"}'),
  ])

  it('quarantine the line, which stays in the tree', async () => {
    const file = folder({
      'a.jsonl': Buffer.concat([
        Buffer.from(`${A}\n`),
        bad,
        Buffer.from(`\n{"id":"c","kind":"PauseEvent"}\n`),
      ]),
    })('a.jsonl')
    const check = await runJson(['check', file])
    expect(check.code).toBe(1)
    expect(check.all[0]).toMatchObject({
      events: 3,
      valid: 2,
      issues: [{ line: 2, kind: 'PauseEvent', loc: [], type: 'unicode_error' }],
    })
    expect(check.err).toContain('line 2 is not UTF-8')
    expect((await runJson<TreeAnswer>(['tree', file])).all[0].events[2]).toMatchObject({
      id: 'c',
      parent: 'b',
    })
  })

  it('keep an event out of the tree if they are in its id', async () => {
    const broken = Buffer.concat([
      Buffer.from('{"id":"b'),
      Buffer.from([0xff]),
      Buffer.from('","kind":"PauseEvent"}'),
    ])
    const file = folder({ 'a.json': Buffer.concat([Buffer.from(`[${A},`), broken, Buffer.from(']')]) })(
      'a.json',
    )
    expect(await ids(file)).toEqual(['a'])
  })

  it('fail with not_json in a UTF-16 file', async () => {
    const utf16 = Buffer.from(`\ufeff${A}\n`, 'utf16le')
    for (const name of ['a.jsonl', 'a.json', 'a'])
      expect(await ids(folder({ [name]: utf16 })(name))).toMatchObject({ code: 'not_json' })
  })
})

describe('unreadable files', () => {
  it.each([
    ['a missing file', 'none.jsonl', 'not_found'],
    ['a file used as a folder', 'a.jsonl/b.jsonl', 'not_found'],
    ['an empty name', '', 'not_found'],
  ])('fail in one line: %s', async (_, name, code) => {
    const pathOf = folder({ 'a.jsonl': A })
    const file = name === '' ? '' : pathOf(name)
    const { all, err, code: exit } = await runJson(['replay', file])
    expect({ exit, error: all[0].error?.code }).toEqual({ exit: 1, error: code })
    expect(err).toMatch(/^colloquy: [^\n]+\n$/)
    expect(err).not.toMatch(/ {4}at |ENOENT/)
  })
})

it('the ids __proto__ and constructor are ordinary ids', async () => {
  expect(
    await ids('-', '{"id":"__proto__","kind":"PauseEvent"}\n{"id":"constructor","kind":"PauseEvent"}'),
  ).toEqual(['__proto__', 'constructor'])
})
