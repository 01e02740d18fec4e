/** Faults in src/log/ and in the tree. */

import type { Fault } from './fault.ts'

export const LOG_FAULTS: readonly Fault[] = [
  {
    name: 'HEAD follows a state update',
    file: 'log/place.ts',
    find: 'const canBeHead = inTree && canKindBeHead(kind)',
    replace: 'const canBeHead = inTree',
  },
  {
    name: 'an event with an unknown parent is a root',
    file: 'log/place.ts',
    find: 'parent = known === undefined ? log.head : known',
    replace: 'parent = known ?? null',
  },
  {
    name: 'a second event with a known id is in the tree',
    file: 'log/place.ts',
    find: 'const inTree = id !== null && existing === undefined',
    replace: 'const inTree = id !== null',
  },
  {
    name: 'an unreadable timestamp is kept',
    file: 'log/place.ts',
    find: 'if (isInstant(event.timestamp)) timestamp = event.timestamp',
    replace: "if (event.timestamp !== '') timestamp = event.timestamp",
  },
  {
    name: 'a missing timestamp is not replaced by the timestamp of the previous entry',
    file: 'log/place.ts',
    find: 'let timestamp = log.entries.last()?.timestamp ?? null',
    replace: 'let timestamp: string | null = null',
  },
  {
    name: 'an unknown parent is not reported',
    file: 'log/place.ts',
    find: 'if (known === undefined)\n',
    replace: 'if (known === undefined && log.head === null)\n',
  },
  {
    name: 'HEAD cannot be emptied',
    file: 'event/tree-rule.ts',
    find: "if (event.value === null) return { head: null, move: 'made' }",
    replace: "if (event.value === null) return { head, move: 'none' }",
  },
  {
    name: 'HEAD that is moved to a state update does not move',
    file: 'event/tree-rule.ts',
    find: 'return target === undefined',
    replace: 'return target?.canBeHead !== true',
  },
  {
    name: 'the search for an ancestor jumps too far',
    file: 'log/entry.ts',
    find: 'current = current.jump !== null && current.jump.depth >= above.depth ? current.jump : current.parent',
    replace:
      'current = current.jump !== null && current.jump.depth >= above.depth - 1 ? current.jump : current.parent',
  },
  {
    name: 'the response of a duplicate counts in another version of the log',
    file: 'log/entry.ts',
    find: "return entry.inTree && event.kind === 'ActionEvent' ? event.llm_response_id : null",
    replace: "return event.kind === 'ActionEvent' ? event.llm_response_id : null",
  },
  {
    name: 'the id index returns entries of another version of the log',
    file: 'log/log.ts',
    find: 'return entry !== undefined && entry.inTree && entry.id === id',
    replace: 'return entry !== undefined && entry.inTree',
  },
  {
    name: 'the id index keeps only one position for each id',
    file: 'log/log.ts',
    find: 'if (known !== seq) this.#positions.set(key, known < seq ? [known, seq] : [seq, known])',
    replace: 'if (known !== seq) this.#positions.set(key, seq)',
  },
  {
    name: 'a result that names only a call id matches any open call',
    file: 'log/open-calls.ts',
    find: 'return best?.entry.event.tool_call_id === id ? best : undefined',
    replace: 'return best',
  },
  {
    name: 'a push writes into a tail that another vector shares',
    file: 'log/vector.ts',
    find: 'if (tail.length !== used) {',
    replace: 'if (tail.length < used) {',
  },
  {
    name: 'setting an element changes the original vector',
    file: 'log/vector.ts',
    find: 'const tail = this.tail()',
    replace: 'const tail = this.#tail',
  },
  {
    name: 'a result that names a call on another branch is matched by its call id',
    file: 'log/open-calls.ts',
    find: 'if (named === undefined) return latest',
    replace: 'if (named === undefined || !isOnPathIn(named, result.parent)) return latest',
  },
  {
    name: 'an orphan result is reported as a duplicate',
    file: 'state/dropped.ts',
    find: "reason: reason ?? (isSecond ? 'duplicate_result' : 'orphan_result')",
    replace: "reason: reason ?? 'duplicate_result'",
  },
]
