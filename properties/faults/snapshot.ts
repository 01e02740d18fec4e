/** Faults in snapshots. */

import type { Fault } from './fault.ts'

export const SNAPSHOT_FAULTS: readonly Fault[] = [
  {
    name: 'a snapshot omits a working call',
    file: 'state/snapshot/record.ts',
    find: 'of record.workingCalls)',
    replace: 'of record.workingCalls.slice(1))',
  },
  {
    name: 'a snapshot omits which call a message completes',
    file: 'state/snapshot/record.ts',
    find: 'item: entryAt(first), ...completes }',
    replace: 'item: entryAt(first) }',
  },
  {
    name: 'events are folded on an evicted HEAD',
    file: 'state/snapshot.ts',
    find: 'return isLoaded(entry.parent) && isLoaded(head)',
    replace: 'return isLoaded(entry.parent)',
  },
  {
    name: '`isEvicted` ignores evicted headers',
    file: 'state/snapshot.ts',
    find: 'return entry instanceof SnapshotEntry && !(entry.hasBranch && entry.hasHeader)',
    replace: 'return entry instanceof SnapshotEntry && !entry.hasBranch',
  },
  {
    name: 'a state update counts as evicted',
    file: 'state/snapshot.ts',
    find: 'return anchor < 0 || anchor === this.#loaded.head',
    replace: 'return this.seq === this.#loaded.head',
  },
  {
    name: 'an evicted entry has an empty branch',
    file: 'state/snapshot.ts',
    find: 'if (!this.hasBranch) throw evicted(this)\n    // State updates do not change the branch, and entries outside the tree have an empty branch.\n    return this.columns.anchor(this.seq) < 0',
    replace: 'return !this.hasBranch',
  },
  {
    name: 'a snapshot accepts the body of another event',
    file: 'state/snapshot.ts',
    find: ' || keyAt(chunk.ids, seq) !== id',
    replace: '',
  },
  {
    name: 'a snapshot omits pending calls outside of the view',
    file: 'state/snapshot/record.ts',
    find: 'for (const { entry } of listPendingCallsIn(pendingCalls)) add(entry)',
    replace: '',
  },
  {
    name: 'a snapshot omits the batch of a pending call',
    file: 'state/snapshot/record.ts',
    find: '[entry.seq, rank, first] as const',
    replace: '[entry.seq, entry.seq, first] as const',
  },
  {
    name: 'a snapshot omits the first call in the batch of a pending call',
    file: 'state/snapshot/record.ts',
    find: '[entry.seq, rank, first] as const',
    replace: '[entry.seq, rank, entry.seq] as const',
  },
  {
    name: 'a snapshot marks every batch as failed',
    file: 'state/snapshot/record.ts',
    find: "return ['batch', rank, unit.responseId, unit.thinking, unit.onlyErrors, calls, results]",
    replace: "return ['batch', rank, unit.responseId, unit.thinking, true, calls, results]",
  },
  {
    name: 'a snapshot omits a system prompt outside of the view',
    file: 'state/snapshot/record.ts',
    find: 'add(systemPrompt)\n',
    replace: '\n',
  },
  {
    name: 'a duplicate result counts as an orphan after opening a snapshot',
    file: 'state/dropped.ts',
    find: "findCall(log, toolCallIdOf(entry), isAbove) ? 'duplicate_result'",
    replace: "findCall(log, toolCallIdOf(entry), () => false) ? 'duplicate_result'",
  },
  {
    name: 'evicted calls are not searched for the call of a result',
    file: 'state/dropped.ts',
    find: 'entry.evicted.eachCall(record)\n',
    replace: '\n',
  },
  {
    name: 'the id index of a snapshot is empty',
    file: 'log/log.ts',
    find: 'ids: new IndexMap(columns?.ids),',
    replace: 'ids: new IndexMap(),',
  },
  {
    name: 'the response index of a snapshot is empty',
    file: 'log/log.ts',
    find: 'responses: new IndexMap(columns?.responseIds),',
    replace: 'responses: new IndexMap(),',
  },
  {
    name: 'the call index of a snapshot is empty',
    file: 'log/log.ts',
    find: 'calls: new IndexMap(columns?.callIds),',
    replace: 'calls: new IndexMap(),',
  },
  {
    name: 'a snapshot loses an unknown kind',
    file: 'log/columnar/chunk.ts',
    find: 'if (code !== OTHER_KIND) return kindFrom(code)\n',
    replace: 'return kindFrom(code)\n',
  },
  {
    name: 'timestamps are read from a wrong position after a restart point',
    file: 'log/columnar/columns.ts',
    find: 'start = end\n',
    replace: 'start = end + (next === 9 ? 1 : 0)\n',
  },
  {
    name: 'a snapshot stores results as their own calls',
    file: 'state/snapshot/record.ts',
    find: '({ entry: entryAt(seq), call: entryAt(call) })',
    replace: '({ entry: entryAt(seq), call: entryAt(seq) })',
  },
  {
    name: 'an entry of a snapshot is a new object at each access',
    file: 'log/columnar/columnar-log.ts',
    find: 'return (leaf[seq % LEAF] ??= this.#make(this, seq))',
    replace: 'return (leaf[seq % LEAF] = this.#make(this, seq))',
  },
  {
    name: 'snapshot parts since a length begin one chunk too late',
    file: 'state/snapshot.ts',
    find: 'const first = Math.floor(from / size)\n  const chunks',
    replace: 'const first = Math.floor(from / size) + 1\n  const chunks',
  },
  {
    name: 'the call index of a snapshot finds only the first call of an id',
    file: 'log/columnar/columns.ts',
    find: 'next[index] = heads[slot] as number',
    replace: 'next[index] = -1',
  },
]
