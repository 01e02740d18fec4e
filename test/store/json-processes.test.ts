/**
 * The example store of JSON files uses only the contract and the kit. It passes the whole conformance kit, and
 * its acknowledged writes survive killed processes.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/store/contract/store.ts'
import { storeConformance } from '../../src/testing/index.ts'
import { project, ROOT } from '../pages.ts'

interface Example {
  readonly jsonStore: (options: { readonly folder: string; readonly durable: boolean }) => Store
}

const { folder, write, remove } = project()
afterAll(remove)
cpSync(join(ROOT, 'examples/store-json'), join(folder, 'store-json'), { recursive: true })
const { jsonStore } = (await import(pathToFileURL(join(folder, 'store-json/store.ts')).href)) as Example
const newFolder = (): string => mkdtempSync(join(folder, 'data-'))
// Not durable: no case cuts the power.
const openIn = (path: string): Store => jsonStore({ folder: path, durable: false })

describe('the store of JSON files', () => {
  const folders = new Map<Store, string>()
  const openStore = async (path: string): Promise<Store> => {
    const store = openIn(path)
    folders.set(store, path)
    return store
  }
  const cases = storeConformance({
    name: 'json',
    open: () => openStore(newFolder()),
    reopen: (store) => openStore(folders.get(store) ?? ''),
  })

  for (const { name, run } of cases) it(name, run)
})

/** Appends and deletes forever, and reports each call once it is acknowledged. */
const WRITER = `
  import { writeSync } from 'node:fs'
  import { jsonStore } from './store-json/store.ts'
  const [name, folder] = process.argv.slice(2)
  const store = jsonStore({ folder, durable: false })
  await store.createConversation({ id: 'c' }).catch(() => undefined)
  for (let i = 0; ; i += 1) {
    const ids = [0, 1, 2].map((k) => name + '.' + i + '.' + k)
    await store.append('c', ids.map((id) => ({ kind: 'PauseEvent', id })))
    await store.createConversation({ id: ids[0] })
    await store.append(ids[0], [{ kind: 'PauseEvent', id: 'gone' }])
    await store.deleteConversation(ids[0])
    await store.changeItems([{ collection: 'done', id: ids[0], expected: null, put: { body: { i } } }])
    writeSync(1, name + '.' + i + '\\n')
  }
`

describe('two killed writers of the store of JSON files', () => {
  it('lose no acknowledged call, and leave no partial batch', async () => {
    const data = newFolder()
    const file = write('writer.ts', WRITER)
    const acknowledged: string[] = []
    const run = async (name: string, count: number): Promise<void> => {
      const child = spawn(process.execPath, [file, name, data], { stdio: ['ignore', 'pipe', 'inherit'] })
      let remaining = count
      for await (const line of createInterface({ input: child.stdout })) {
        acknowledged.push(line)
        if ((remaining -= 1) === 0) child.kill('SIGKILL')
      }
      if (child.signalCode === null) await once(child, 'exit')
    }
    await Promise.all([run('a', 12), run('b', 25)])
    expect(acknowledged.length).toBeGreaterThanOrEqual(37)

    const store = openIn(data)
    const log = await store.read('c', { limit: 100_000 })
    expect(log.map(({ seq }) => seq)).toEqual([...log.keys()])
    const ids = log.map(({ id }) => id ?? '')
    for (const batch of acknowledged) expect(ids).toContain(`${batch}.2`)
    for (const [index, id] of ids.entries())
      expect(id.slice(0, -2)).toBe(ids[index - (index % 3)]?.slice(0, -2))
    for (const batch of acknowledged)
      expect([await store.getItem('done', `${batch}.0`), await store.getConversation(`${batch}.0`)]).toEqual([
        expect.objectContaining({ id: `${batch}.0` }),
        null,
      ])
    const reports: string[] = []
    for (let page = await store.feed(); ; page = await store.feed({ after: page.next })) {
      for (const item of page.items)
        if (item.type === 'event' && item.conversationId === 'c') reports.push(item.event.id ?? '')
      if (!page.more) break
    }
    expect(reports).toEqual(ids)
    await store.close()
  })
})
