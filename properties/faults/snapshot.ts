/** Faults in snapshots. */

import type { Fault } from './fault.ts'

export const SNAPSHOT_FAULTS: readonly Fault[] = [
  {
    name: 'a snapshot forgets a call that works',
    file: 'state/snapshot/record.ts',
    find: 'of record.workingCalls)',
    replace: 'of record.workingCalls.slice(1))',
  },
  {
    name: 'a snapshot forgets which call a message completes',
    file: 'state/snapshot/record.ts',
    find: '...(unit[3] !== undefined &&',
    replace: '...(unit[3] === -1 &&',
  },
  {
    name: 'the fold goes on where nothing is held',
    file: 'state/snapshot.ts',
    find: 'return isLoaded(entry.parent) && isLoaded(head)',
    replace: 'return isLoaded(entry.parent)',
  },
  {
    name: 'isEvicted forgets that headers are evicted too',
    file: 'state/snapshot.ts',
    find: 'return entry instanceof SnapshotEntry && !(entry.hasBranch && entry.hasHeader)',
    replace: 'return entry instanceof SnapshotEntry && !entry.hasBranch',
  },
  {
    name: 'a state update is taken for an entry that is not held',
    file: 'state/snapshot.ts',
    find: 'return anchor < 0 || anchor === this.#loaded.head',
    replace: 'return this.seq === this.#loaded.head',
  },
  {
    name: 'what was let go has an empty branch',
    file: 'state/snapshot.ts',
    find: 'if (!this.hasBranch) throw evicted(this)\n    // State updates do not change the branch, and entries outside the tree have an empty branch.\n    return this.columns.anchor(this.seq) < 0',
    replace: 'return !this.hasBranch',
  },
  {
    name: 'a snapshot takes the body of another event',
    file: 'state/snapshot.ts',
    find: ' || keyAt(chunk.ids, seq) !== id',
    replace: '',
  },
  {
    name: 'a snapshot forgets open calls that the view forgot',
    file: 'state/snapshot/record.ts',
    find: 'for (const { entry } of listPendingCallsIn(pendingCalls)) add(entry)',
    replace: '',
  },
  {
    name: 'a snapshot forgets which batch an open call belongs to',
    file: 'state/snapshot/record.ts',
    find: 'entry.seq,\n      rank,\n      first,\n    ]),',
    replace: 'entry.seq,\n      entry.seq,\n      first,\n    ]),',
  },
  {
    name: 'a snapshot forgets with which call the batch of an open call begins',
    file: 'state/snapshot/record.ts',
    find: 'entry.seq,\n      rank,\n      first,\n    ]),',
    replace: 'entry.seq,\n      rank,\n      entry.seq,\n    ]),',
  },
  {
    name: 'a snapshot forgets that a batch had errors only',
    file: 'state/snapshot/record.ts',
    find: "return ['batch', rank, unit.responseId, unit.thinking, unit.onlyErrors, calls, results]",
    replace: "return ['batch', rank, unit.responseId, unit.thinking, true, calls, results]",
  },
  {
    name: 'a snapshot forgets the prompt that the view forgot',
    file: 'state/snapshot/record.ts',
    find: 'add(systemPrompt)\n',
    replace: '\n',
  },
  {
    name: 'a snapshot takes a second answer for an orphan',
    file: 'state/dropped.ts',
    find: "findCall(log, toolCallIdOf(entry), isAbove) ? 'duplicate_result'",
    replace: "findCall(log, toolCallIdOf(entry), () => false) ? 'duplicate_result'",
  },
  {
    name: 'calls below a snapshot answer nobody',
    file: 'state/dropped.ts',
    find: 'entry.evicted.eachCall(record)\n',
    replace: '\n',
  },
  {
    name: 'ids of a snapshot are unknown',
    file: 'log/log.ts',
    find: 'ids: new IndexMap(columns?.ids),',
    replace: 'ids: new IndexMap(),',
  },
  {
    name: 'replies of a snapshot are unknown',
    file: 'log/log.ts',
    find: 'responses: new IndexMap(columns?.responseIds),',
    replace: 'responses: new IndexMap(),',
  },
  {
    name: 'calls of a snapshot are unknown',
    file: 'log/log.ts',
    find: 'calls: new IndexMap(columns?.callIds),',
    replace: 'calls: new IndexMap(),',
  },
  {
    name: 'a kind that nobody knows is lost',
    file: 'log/columnar/chunk.ts',
    find: 'if (code !== OTHER_KIND) return kindFrom(code)\n',
    replace: 'return kindFrom(code)\n',
  },
  {
    name: 'time is read from the wrong place after a restart',
    file: 'log/columnar/columns.ts',
    find: 'start = end\n',
    replace: 'start = end + (current === 9 ? 1 : 0)\n',
  },
  {
    name: 'a batch of a snapshot holds its answers as calls of their own',
    file: 'state/snapshot/record.ts',
    find: '({ entry: entryAt(seq), call: entryAt(call) })',
    replace: '({ entry: entryAt(seq), call: entryAt(seq) })',
  },
  {
    name: 'an entry of a snapshot is made anew each time',
    file: 'log/columnar/columnar-log.ts',
    find: 'return (leaf[seq % LEAF] ??= this.#make(this, seq))',
    replace: 'return (leaf[seq % LEAF] = this.#make(this, seq))',
  },
  {
    name: 'parts since a length begin one too late',
    file: 'state/snapshot.ts',
    find: 'const first = Math.floor(from / size)\n  const chunks',
    replace: 'const first = Math.floor(from / size) + 1\n  const chunks',
  },
  {
    name: 'the index of a snapshot finds the first call of an id only',
    file: 'log/columnar/columns.ts',
    find: 'next[index] = heads[slot] as number',
    replace: 'next[index] = -1',
  },
]
