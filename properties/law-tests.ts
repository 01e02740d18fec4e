/** Maps laws to the test files that night runs execute. */

import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '..')

const EXECUTION = 'properties/execution.test.ts'
const KIT = [
  'memory',
  'agreement',
  'sqlite',
  'sqlite-agreement',
  'postgres',
  'postgres-agreement',
  'cursor',
  'feed',
  'sqlite-group',
  'postgres-together',
  'sqlite-processes',
  'sqlite-faults',
  'postgres-faults',
  'postgres-crash',
].map((name) => `test/store/${name}.test.ts`)
const SUBSCRIBE = ['subscribe', 'subscribe-reset', 'follow', 'replies', 'model'].map(
  (name) => `test/conversation/${name}.test.ts`,
)
const SERVICE = ['fuzz', 'soak', 'error-secrets', 'live-session', 'replies', 'shared-events'].map(
  (name) => `test/service/${name}.test.ts`,
)
const BACKGROUND = 'properties/background.test.ts'
const MESSAGES = ['properties/messages.test.ts', 'test/messages/hostile.test.ts']

/** Law ids or families. The first matching entry applies. */
const TESTS: readonly (readonly [laws: string, files: readonly string[]])[] = [
  ['R7 R8 R9', ['properties/snapshot.test.ts']],
  ['R', ['properties/replay.test.ts', 'properties/regressions.test.ts']],
  ['T', ['properties/tree.test.ts', 'properties/laws.test.ts']],
  ['P1 P2 P3 P4 P5', ['properties/pairing.test.ts']],
  ['P12', ['properties/pairing.test.ts', BACKGROUND]],
  ['I8', [BACKGROUND, 'test/conversation/background.test.ts']],
  ['P I', [EXECUTION]],
  ['V', ['properties/view.test.ts']],
  ['M11', ['properties/replies.test.ts']],
  ['M12 M13 M15', ['properties/prefix.test.ts', EXECUTION]],
  ['M21', ['properties/request-cache.test.ts', 'properties/prefix.test.ts', 'properties/parts.test.ts']],
  ['M14 M17', ['settling-items', 'parts', 'user-parts'].map((name) => `properties/${name}.test.ts`)],
  ['M18', [...MESSAGES, BACKGROUND, 'properties/prefix.test.ts']],
  ['M', MESSAGES],
  ['O4 O5', ['properties/explain.test.ts']],
  ['O', ['properties/screen.test.ts']],
  ['K9', ['test/context/usage.test.ts']],
  ['K', ['properties/context.test.ts']],
  ['L', ['properties/stuck.test.ts']],
  ['E6', ['test/cli/identity.test.ts']],
  ['E7', ['test/event/drift.test.ts', 'test/event/unknown-fields.test.ts']],
  ['E8', ['test/event/lossy.test.ts', 'properties/events.test.ts']],
  ['E9', ['properties/sessions.test.ts']],
  ['E10', ['properties/converted.test.ts']],
  ['E', ['properties/events.test.ts']],
  ['S8', ['properties/blobs.test.ts', 'test/store/blobs.test.ts', ...KIT]],
  ['C5 C6', ['properties/texts.test.ts', 'test/store/texts.test.ts', 'test/service/search-text.test.ts']],
  ['C S', KIT],
  ['B', SUBSCRIBE],
  ['W7', ['test/service/run-requests.test.ts', 'test/service/concurrent-creates.test.ts']],
  ['W', SERVICE],
  ['X1 X2 X3 X4', ['properties/secrets.test.ts']],
  ['X10', ['properties/erasure.test.ts', 'test/conversation/erase.test.ts']],
  ['X', ['properties/redaction.test.ts']],
]

export const listLaws = (): string[] =>
  [...readFileSync(join(ROOT, 'properties/laws.md'), 'utf8').matchAll(/^- \*\*([A-Z]\d+)\*\*/gm)].map(
    ([, law = '']) => law,
  )

/** @throws Error if the law or all of its files are missing. */
export function testsOf(law: string): readonly string[] {
  if (!listLaws().includes(law)) throw new Error(`there is no law ${law}`)
  const match = TESTS.find(([laws]) => laws.split(' ').some((one) => one === law || one === law[0]))
  const [, files = []] = match ?? []
  if (files.length === 0) throw new Error(`no test checks law ${law}`)
  for (const file of files)
    if (!existsSync(join(ROOT, file))) throw new Error(`${file}, which checks law ${law}, does not exist`)
  return files
}
