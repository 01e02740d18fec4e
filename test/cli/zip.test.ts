import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type NewFile, openZip, writeZip } from '../../src/cli/input/zip.ts'
import { colloquy, folder } from './run-command.ts'
import { type Claims, makeZip } from './zip.ts'

const EVENT = JSON.stringify({ id: 'p', kind: 'PauseEvent' })

async function* numbered(count: number): AsyncIterableIterator<NewFile> {
  for (let i = 0; i < count; i += 1)
    yield { path: `events/event-${String(i).padStart(5, '0')}-${i}.json`, text: `{"n":${i}}` }
}

describe('`writeZip`', () => {
  it('writes 65,535 readable files, and rejects one more', async () => {
    const pathOf = folder({})
    const count = 2 ** 16 - 1
    await writeZip(pathOf('x.zip'), 'c', numbered(count))
    const { paths, read } = await openZip(pathOf('x.zip'), () => true)
    expect(paths).toHaveLength(count)
    for (const [nth, path] of paths.entries()) {
      if (nth % 1_000 !== 0 && nth < count - 2) continue
      const text = (await read(path)).toString()
      if (text !== `{"n":${nth}}`) throw new Error(`file ${nth} holds ${text}`)
    }
    await expect(writeZip(pathOf('y.zip'), 'c', numbered(count + 1))).rejects.toThrow(
      'use --format directory',
    )
  })

  it('writes the same bytes each time', async () => {
    const pathOf = folder({})
    for (const name of ['a', 'b']) await writeZip(pathOf(name), 'c', numbered(10))
    expect(readFileSync(pathOf('a')).equals(readFileSync(pathOf('b')))).toBe(true)
  })
})

describe('import of an invalid archive', () => {
  const event = 'events/event-00000-p.json'
  const big = 'x'.repeat(100_000)
  const many = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [`events/event-${String(i).padStart(5, '0')}-p.json`, big]),
  )
  const shared: Record<string, Claims> = Object.fromEntries(
    Object.keys(many).map((name, i) => [name, { unpacked: 100 << 20, ...(i > 0 && { sameAs: 0 }) }]),
  )
  it.each<{ name: string; zip: Buffer; message: string; code?: string }>([
    {
      name: 'a truncated archive',
      zip: makeZip({ [event]: EVENT }).subarray(0, 80),
      message: 'cannot be read',
    },
    {
      name: 'a wrong checksum',
      zip: makeZip({ [event]: EVENT }, { [event]: { crc: 1 } }),
      message: `${event} is damaged`,
    },
    {
      name: 'an encrypted file',
      zip: makeZip({ [event]: EVENT }, { [event]: { flags: 0x0801, crc: 1 } }),
      message: 'is damaged',
    },
    {
      name: 'an unpacked size that is too small',
      zip: makeZip({ [event]: EVENT }, { [event]: { unpacked: 3 } }),
      message: 'is damaged',
    },
    {
      name: 'an unknown compression method',
      zip: makeZip({ [event]: EVENT }, { [event]: { method: 99 } }),
      message: 'unknown compression type 99',
    },
    {
      name: 'an unpacked size of 4 GiB',
      zip: makeZip({ [event]: EVENT }, { [event]: { unpacked: 0xfffffff0 } }),
      message: 'unpacks to more than 1 GiB',
    },
    {
      name: 'one file under 60 names',
      zip: makeZip(many, shared),
      message: 'unpacks to more than 1 GiB',
    },
    {
      name: 'several conversations',
      zip: makeZip({ [`a/${event}`]: EVENT, [`b/${event}`]: EVENT }),
      message: '2 folders',
      code: 'several_conversations',
    },
    {
      name: 'an archive without events',
      zip: makeZip({ 'readme.txt': 'x' }),
      message: 'contains no files event-NNNNN',
      code: 'no_events',
    },
    {
      name: 'an empty archive',
      zip: makeZip({}),
      message: 'contains no files event-NNNNN',
      code: 'no_events',
    },
  ])('fails in one line for $name', async ({ zip, message, code = 'not_a_zip' }) => {
    const pathOf = folder({})
    writeFileSync(pathOf('x.zip'), zip)
    const {
      code: exit,
      out,
      err,
    } = await colloquy(['import', pathOf('x.zip'), '--db', pathOf('x.db'), '--json'])
    expect({ exit, error: JSON.parse(out).error.code }).toEqual({ exit: 1, error: code })
    expect(err).toMatch(/^colloquy: [^\n]+\n$/)
    expect(err).toContain(message)
  })
})
