/** Deliberate faults in src/view/: each breaks at least one law. */

import type { Fault } from './fault.ts'

export const VIEW_FAULTS: readonly Fault[] = [
  {
    name: 'calls with an empty response id share a batch',
    file: 'view/batch.ts',
    find: "if (llm_response_id === '' || batch.responseId !== llm_response_id) return false",
    replace: 'if (batch.responseId !== llm_response_id) return false',
  },
  {
    name: 'a batch takes the same call id twice',
    file: 'view/batch.ts',
    find: 'return !hasCall(log, tool_call_id, batch.rank, (seq) => holds(batch.calls, seq))',
    replace: 'return true',
  },
  {
    name: 'an answered batch takes in a call',
    file: 'view/batch.ts',
    find: 'if (!isPending(batch) && !(batch.onlyErrors && !bringsThought(call.event))) return false',
    replace: '',
  },
  {
    name: 'words do not keep a call out of a failed batch',
    file: 'view/batch.ts',
    find: 'event.thought.some((part) => hasText(part.text)) ||',
    replace: '',
  },
  {
    name: 'a joined call forgets its thinking',
    file: 'view/batch.ts',
    find: 'thinking: last.thinking || thinking,',
    replace: 'thinking: last.thinking,',
  },
  {
    name: 'a result counts as an error',
    file: 'view/batch.ts',
    find: "onlyErrors: batch.onlyErrors && answer.event.kind === 'AgentErrorEvent',",
    replace: 'onlyErrors: batch.onlyErrors,',
  },
  {
    name: 'a loop is cut',
    file: 'view/condense.ts',
    find: 'return hits.map((count, index) => count > 0 || loops.has(starts[index] ?? -1))',
    replace: 'return hits.map((count) => count > 0)',
  },
  {
    name: 'a summary goes into a loop',
    file: 'view/condense.ts',
    find: 'if (at >= wanted && (start < 0 || start === index)) return index',
    replace: 'if (at >= wanted) return index',
  },
  {
    name: 'an offset counts what is forgotten',
    file: 'view/condense.ts',
    find: 'isPending(unit) ? 0 : eventCount(unit) - (hits[index] ?? 0)',
    replace: 'isPending(unit) ? 0 : eventCount(unit)',
  },
  {
    name: 'an offset counts pending batches',
    file: 'view/condense.ts',
    find: 'isPending(unit) ? 0 : eventCount(unit) - (hits[index] ?? 0)',
    replace: '(unit.type === "message" ? 1 : unit.calls.length + unit.answers.length) - (hits[index] ?? 0)',
  },
  {
    name: 'a blank summary is inserted',
    file: 'view/condense.ts',
    find: 'const inserts = offset !== null && hasText(event.summary)',
    replace: 'const inserts = offset !== null && event.summary !== undefined',
  },
  {
    name: 'the length of a view forgets what was forgotten',
    file: 'view/condense.ts',
    find: 'if (gone[index] === true) length -= eventCount(unit)',
    replace: 'if (gone[index] === true) length -= 1',
  },
  {
    name: 'a pending batch starts or goes on with a loop',
    file: 'view/loops.ts',
    find: "if (unit.type !== 'batch' || isPending(unit)) start = -1",
    replace: "if (unit.type !== 'batch') start = -1",
  },
  {
    name: 'cut points lie inside loops',
    file: 'view/cut-points.ts',
    find: 'if (count > 0 && at > 0 && !inside) points.push(at)',
    replace: 'if (count > 0 && at > 0) points.push(at)',
  },
  {
    name: 'a pending batch is shown',
    file: 'view/view.ts',
    find: 'if (!isPending(unit)) yield* unitItems(unit)',
    replace: 'yield* unitItems(unit)',
  },
  {
    name: 'answers stand before their calls',
    file: 'view/unit.ts',
    find: 'yield* unit.calls',
    replace: 'if (unit.answers.length === 0) yield* unit.calls',
  },
]
