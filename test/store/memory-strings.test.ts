/** Long strings in memory: logs share equal strings, and an audit finds missing and unused ones. */

import { expect, it } from 'vitest'
import type { Fact } from '../../src/event/quarantine.ts'
import { decideAppend } from '../../src/store/kit/append/decide-append.ts'
import { NO_BLOBS } from '../../src/store/kit/blobs.ts'
import {
  auditStrings,
  contextIn,
  forgetStrings,
  type MemoryLog,
  newLog,
  replaceFacts,
  type SharedStrings,
  writeDecision,
} from '../../src/store/memory/log.ts'

const LENGTH = 70_000

const fact = (id: string, letter: string): Fact => ({
  kind: 'MessageEvent',
  id,
  timestamp: '2026-01-01T00:00:00Z',
  source: 'user',
  llm_message: { role: 'user', content: [{ text: letter.repeat(LENGTH) }] },
})

function logOf(conversationId: string, shared: SharedStrings, facts: readonly Fact[]): MemoryLog {
  const log = newLog(shared)
  const context = contextIn(log, { conversationId, createdAt: '', timeZone: null, lease: null })
  writeDecision(log, decideAppend(context, facts, { mode: 'live' }))
  return log
}

it('logs share equal strings until the last event that uses them is replaced or removed', () => {
  const shared: SharedStrings = new Map()
  const logs = ['c', 'd'].map((id) => logOf(id, shared, [fact('a', 'x'), fact('b', 'x')])) as [
    MemoryLog,
    MemoryLog,
  ]
  const [hash = ''] = shared.keys()
  expect(logs[0].strings.get(hash)).toBe(logs[1].strings.get(hash))
  expect(auditStrings(logs, shared)).toEqual({ ...NO_BLOBS, blobs: 1, bytes: LENGTH, events: 4 })

  const [first, second] = logs[0].rows
  if (first === undefined || second === undefined) throw new Error('A row is missing.')
  replaceFacts(logs[0], [[first, fact('a', 'y')]])
  expect(auditStrings(logs, shared)).toEqual({ ...NO_BLOBS, blobs: 2, bytes: 2 * LENGTH, events: 4 })
  replaceFacts(logs[0], [[second, fact('b', 'y')]])
  expect(logs[0].strings.has(hash)).toBe(false)
  forgetStrings(logs[1])
  expect(auditStrings([logs[0]], shared)).toEqual({ ...NO_BLOBS, blobs: 1, bytes: LENGTH, events: 2 })
  forgetStrings(logs[0])
  expect(shared.size).toBe(0)
})

it('an audit reports unused strings, and events whose string is missing', () => {
  const shared: SharedStrings = new Map()
  const logs = [logOf('c', shared, [fact('a', 'x')]), logOf('d', shared, [fact('a', 'y')])] as const
  const [x = '', y = ''] = shared.keys()
  expect(auditStrings([logs[0]], shared)).toMatchObject({ unused: [y], missing: [] })
  shared.delete(x)
  expect(auditStrings(logs, shared)).toMatchObject({
    unused: [],
    missing: [{ conversationId: 'c', seq: 0 }],
  })
})
