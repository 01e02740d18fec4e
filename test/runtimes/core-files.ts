/** The core's test files that run in every runtime: all files of some folders, with exceptions. */

import { globSync } from 'node:fs'
import { resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../..')

const CORE = [
  'context',
  'conversation',
  'event',
  'explain',
  'inventory',
  'laws',
  'log',
  'messages',
  'providers',
  'state',
  'steps',
  'store',
  'testing',
  'validators',
  'view',
]

/** Reasons for exceptions. Any other file that needs Node fails to bundle. */
const EXCEPTIONS: Readonly<Record<string, readonly string[]>> = {
  'start other processes': [
    'properties/faults/*',
    'test/conversation/{after-crash,hooks-run,hooks-shell,hooks-shell-start,kill,races,subscribe-processes}',
    'test/store/{json-processes,sqlite-processes}',
    'test/messages/toy-grammar',
    'test/testing/{colloquy-server,drive,example-server,seeded-bugs}',
  ],
  'listen on a port': ['test/steps/official', 'test/testing/{provider,server-client}'],
  'read the sources or the pages of the repository': [
    'properties/law-tests',
    'test/conversation/stopping',
    'test/event/errors',
    'test/laws/sentences',
  ],
  'read files outside the repository, or write files': [
    'test/event/recorded',
    'test/inventory/files',
    'test/messages/logs',
  ],
  'use the SQLite and PostgreSQL drivers of Node': [
    'test/context/redact-store',
    'properties/blobs',
    'test/conversation/{await-using,background,deletion,erase,follow,option-names,references,tree}',
    'test/inventory/live',
    'test/store/{arguments,blobs,bytes,counts,feed,feed-rows,items-agreement,own-rows,paths,texts,tree-rule}',
    'test/store/{postgres,postgres-*}',
    'test/store/{sqlite,sqlite-agreement,sqlite-faults,sqlite-group,sqlite-index,sqlite-plans,sqlite-watch}',
  ],
  'measure processor time': [
    'test/context/redact-cost',
    'test/explain/findings-cost',
    'test/messages/{collect-cost,parts}',
  ],
  'test features of Node': [
    'test/conversation/{hooks,listeners}',
    'test/event/sha-256',
    'test/messages/tool-result',
  ],
}

const find = (pattern: string): string[] => globSync(`${pattern}.test.ts`, { cwd: ROOT })

/**
 * The files that run, by name, and the number of exceptions. @throws Error when an exception matches no
 * file.
 */
export function coreFiles(): {
  readonly files: readonly string[]
  readonly exceptionCounts: ReadonlyMap<string, number>
} {
  const exceptionCounts = new Map<string, number>()
  const excluded = new Set<string>()
  for (const [reason, patterns] of Object.entries(EXCEPTIONS)) {
    const matches = patterns.flatMap((pattern) => {
      const files = find(pattern)
      if (files.length === 0) throw new Error(`there is no ${pattern}.test.ts`)
      return files
    })
    exceptionCounts.set(reason, matches.length)
    for (const file of matches) excluded.add(file)
  }
  const all = [...find('properties/**/*'), ...find(`test/{${CORE.join(',')}}/**/*`)]
  return { files: all.filter((file) => !excluded.has(file)).toSorted(), exceptionCounts }
}
