import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type NewFile, openZip, writeZip } from '../../src/cli/input/zip.ts'
import { colloquy, folder } from './world.ts'
import { type Claims, makeZip } from './zip.ts'

const EVENT = JSON.stringify({ id: 'p', kind: 'PauseEvent' })

async function* numbered(count: number): AsyncIterableIterator<NewFile> {
  for (let i = 0; i < count; i += 1)
    yield { path: `events/event-${String(i).padStart(5, '0')}-${i}.json`, text: `{"n":${i}}`, time: i * 1e9 }
}

describe('an archive that is written', () => {
  it('is read back with more files than the plain form can count', async () => {
    const file = folder({})('x.zip')
    const count = 2 ** 16
    await writeZip(file, 'c', numbered(count))
    const { paths, read } = await openZip(file)
    expect(paths).toHaveLength(count)
    for (const [index, path] of paths.entries()) {
      if (index % 1_000 !== 0 && index < count - 2) continue
      const text = (await read(path)).toString()
      if (text !== `{"n":${index}}`) throw new Error(`file ${index} holds ${text}`)
    }
  })

  it('is the same whenever it is written', async () => {
    const index = folder({})
    for (const name of ['a', 'b']) await writeZip(index(name), 'c', numbered(10))
    expect(readFileSync(index('a')).equals(readFileSync(index('b')))).toBe(true)
  })
})

describe('an archive that is', () => {
  const event = 'events/event-00000-p.json'
  const big = 'x'.repeat(100_000)
  const many = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [`events/event-${String(i).padStart(5, '0')}-p.json`, big]),
  )
  const shared: Record<string, Claims> = Object.fromEntries(
    Object.keys(many).map((name, i) => [name, i === 0 ? {} : { sameAs: 0 }]),
  )
  it.each<{ name: string; zip: Buffer; says: string; code?: string }>([
    { name: 'cut short', zip: makeZip({ [event]: EVENT }).subarray(0, 80), says: 'cannot be read' },
    {
      name: 'of a wrong checksum',
      zip: makeZip({ [event]: EVENT }, { [event]: { crc: 1 } }),
      says: 'checksum',
    },
    {
      name: 'encrypted',
      zip: makeZip({ [event]: EVENT }, { [event]: { flags: 0x0801 } }),
      says: 'encrypted',
    },
    {
      name: 'of an unknown method',
      zip: makeZip({ [event]: EVENT }, { [event]: { method: 99 } }),
      says: 'method',
    },
    {
      name: 'said to be smaller',
      zip: makeZip({ [event]: EVENT }, { [event]: { unpacked: 3 } }),
      says: 'checksum',
    },
    {
      name: 'said to be larger',
      zip: makeZip({ [event]: EVENT }, { [event]: { unpacked: 300 } }),
      says: 'not enough bytes',
    },
    {
      name: 'leaving its folder',
      zip: makeZip({ [`../../${event}`]: EVENT }),
      says: 'invalid relative path',
    },
    { name: 'at the root of the disk', zip: makeZip({ [`/${event}`]: EVENT }), says: 'absolute path' },
    {
      name: 'larger than any event',
      zip: makeZip({ [event]: EVENT }, { [event]: { unpacked: 300 << 20 } }),
      says: 'larger than 256 MiB',
      code: 'unreadable',
    },
    {
      name: 'claiming more than a disk',
      zip: makeZip({ [event]: EVENT }, { [event]: { unpacked: 0xfffffff0 } }),
      says: 'expands to too much data',
    },
    {
      name: 'with sizes of 64 bits',
      zip: makeZip({ [event]: EVENT }, { [event]: { unpacked: 0xffffffff } }),
      says: 'its sizes have 64 bits; unpack it',
    },
    {
      name: 'a pile of one file under many names',
      zip: makeZip(many, shared),
      says: 'expands to too much data',
    },
    {
      name: 'of several conversations',
      zip: makeZip({ [`a/${event}`]: EVENT, [`b/${event}`]: EVENT }),
      says: '2 folders',
      code: 'several_conversations',
    },
    {
      name: 'without events',
      zip: makeZip({ 'readme.txt': 'x' }),
      says: 'contains no event',
      code: 'no_events',
    },
    { name: 'empty', zip: makeZip({}), says: 'contains no event', code: 'no_events' },
  ])('$name is one clear line', async ({ zip, says, code = 'not_a_zip' }) => {
    const index = folder({})
    writeFileSync(index('x.zip'), zip)
    const {
      code: exit,
      out,
      err,
    } = await colloquy(['import', index('x.zip'), '--db', index('x.db'), '--json'])
    expect({ exit, error: JSON.parse(out).error.code }).toEqual({ exit: 1, error: code })
    expect(err).toMatch(/^colloquy: [^\n]+\n$/)
    expect(err).toContain(says)
  })
})
