/** Tests a copy of the example server with a deliberate bug against the cases of its law. */

import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { LawBroken } from '../../src/testing/failure.ts'
import { serverConformance } from '../../src/testing/server/index.ts'
import { exampleServer } from './example-server.ts'
import { startModel } from './scripted-model.ts'
import type { SeededBug } from './seeded-bugs.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const SERVER = join(ROOT, 'examples/agent-server')

/** The text of the file with the bug. @throws Error unless `find` occurs exactly once in the file. */
export function seeded({ name, file, find, replace }: SeededBug): string {
  const text = readFileSync(join(SERVER, file), 'utf8')
  const count = text.split(find).length - 1
  if (count !== 1) throw new Error(`${name}: the text occurs ${count} times in ${file}, not once: ${find}`)
  return text.replace(find, () => replace)
}

/**
 * The first broken law and its case; null if all laws hold. Runs the cases of the bug's law, or all cases if
 * the law is about whole logs.
 */
export async function lawBrokenBy(
  bug: SeededBug,
): Promise<{ readonly law: string; readonly name: string; readonly message: string } | null> {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-bug-'))
  cpSync(SERVER, folder, { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir')
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, bug.file), seeded(bug))
  const model = await startModel()
  const server = exampleServer(join(folder, 'server.ts'), model)
  try {
    const cases = serverConformance({ ...server, timeout: 20_000 })
    const selected = cases.filter(({ laws }) => laws.includes(bug.law))
    for (const { name, run } of selected.length === 0 ? cases : selected) {
      try {
        await run()
      } catch (error) {
        const cause = error instanceof Error ? error.cause : null
        if (!(cause instanceof LawBroken)) throw error
        return { law: cause.law, name, message: cause.message }
      }
    }
    return null
  } finally {
    await server.close()
    await model.close()
    rmSync(folder, { recursive: true, force: true })
  }
}
