/** Group A of the inventory: reading a directory of event files. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openInput } from '../../src/cli/input/open.ts'
import { loadLine } from '../../src/event/load.ts'
import { replay } from '../../src/state/reduce.ts'
import { user } from '../build.ts'
import { ids, warnings } from './inspect.ts'

let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'colloquy-files-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (number: string, id: string, body = JSON.stringify(user(id))): void =>
  writeFileSync(join(folder, `event-${number}-${id}.json`), body)

/** Reads the folder as the command does; returns the file numbers and the log's state. */
async function readFolder(name = folder) {
  const pieces: { readonly line: number; readonly text: string }[] = []
  for await (const some of (await openInput(name, { stdin: process.stdin })).pieces) {
    for (const piece of some) pieces.push({ line: piece.line, text: piece.bytes.toString() })
  }
  return {
    lines: pieces.map((piece) => piece.line),
    state: replay(pieces.map((piece) => loadLine(piece.text).fact)),
  }
}

describe('group A: event files', () => {
  it('A7 an event stays in the state after its file is deleted, and an empty folder is an error', async () => {
    write('00000', 'm0')
    const { state } = await readFolder()
    rmSync(join(folder, 'event-00000-m0.json'))
    expect(ids(state)).toEqual(['m0'])
    await expect(readFolder()).rejects.toMatchObject({ code: 'no_events' })
  })

  it('A9 a gap in the file numbers loses no event', async () => {
    write('00000', 'm0')
    write('00002', 'm2')
    const { lines, state } = await readFolder()
    expect(lines).toEqual([0, 2])
    expect(ids(state)).toEqual(['m0', 'm2'])
  })

  it('A10 a missing or empty directory is an error', async () => {
    await expect(readFolder(join(folder, 'nowhere'))).rejects.toThrow(/./)
    await expect(readFolder()).rejects.toMatchObject({ code: 'no_events' })
  })

  it('A11 the remaining files are read without warnings after one is deleted', async () => {
    for (const number of ['0', '1', '2']) write(number.padStart(5, '0'), `m${number}`)
    const before = await readFolder()
    rmSync(join(folder, 'event-00001-m1.json'))
    expect(ids(before.state)).toEqual(['m0', 'm1', 'm2'])
    const { state } = await readFolder()
    expect(ids(state)).toEqual(['m0', 'm2'])
    expect(warnings(state)).toEqual([])
  })

  it('A21 files with five digits and more are read in numeric order', async () => {
    const numbers = [1_000_000, 100_001, 0, 99_999, 1, 999_999, 100_000]
    for (const number of numbers) write(String(number).padStart(5, '0'), `m${number}`)
    const { lines, state } = await readFolder()
    expect(lines).toEqual([0, 1, 99_999, 100_000, 100_001, 999_999, 1_000_000])
    expect(ids(state)).toEqual(lines.map((line) => `m${line}`))
  })
})

describe('group S: event files', () => {
  it('S3 a file with another name is ignored and listed', async () => {
    write('00000', 'm0')
    writeFileSync(join(folder, 'notes.json'), JSON.stringify(user('m1')))
    const { state } = await readFolder()
    expect(ids(state)).toEqual(['m0'])
    expect((await openInput(folder, { stdin: process.stdin })).sidecarFiles?.ignored).toEqual(['notes.json'])
  })

  it('S4 a corrupt file is quarantined, and the other files are read', async () => {
    write('00000', 'm0')
    write('00001', 'm1', '{"kind":')
    write('00002', 'm2')
    const { state } = await readFolder()
    expect(ids(state)).toEqual(['m0', 'm2'])
    expect(warnings(state)).toEqual(['null quarantined'])
  })

  it('S6 event files without a stored state are read', async () => {
    for (const number of ['0', '1']) write(number.padStart(5, '0'), `m${number}`)
    const { state } = await readFolder()
    expect(ids(state)).toEqual(['m0', 'm1'])
    expect(
      Object.keys(
        (await openInput(folder, { stdin: process.stdin })).sidecarFiles?.documents ?? { none: true },
      ),
    ).toEqual([])
  })
})
