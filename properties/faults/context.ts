/** Faults in src/context/. */

import type { Fault } from './fault.ts'

export const CONTEXT_FAULTS: readonly Fault[] = [
  {
    name: 'the system prompt is forgotten',
    file: 'context/blocks.ts',
    find: 'if (id === systemPrompt && permissions.forgetSystemPrompt !== true) fixed.add(unit)',
    replace: '',
  },
  {
    name: 'the last user message is forgotten',
    file: 'context/blocks.ts',
    find: 'if (lastUser !== null && permissions.forgetLastUserMessage !== true) fixed.add(lastUser)',
    replace: '',
  },
  {
    name: 'an id that two units bear is listed',
    file: 'context/blocks.ts',
    find: 'if (other !== undefined && other !== unit) fixed.add(unit).add(other)',
    replace: '',
  },
  {
    name: 'a reply goes that a pending batch goes on with',
    file: 'context/blocks.ts',
    find: 'fixed.has(unit) || isPending(unit)',
    replace: 'fixed.has(unit)',
  },
  {
    name: 'a block ends inside a stretch',
    file: 'context/blocks.ts',
    find: 'while (starts[end] === index) end += 1',
    replace: '',
  },
  {
    name: 'a summary stands before what it tells of',
    file: 'context/condenser/rolling.ts',
    find: 'summaryOffset: last.position + last.count - countEvents(forgotten),',
    replace: 'summaryOffset: forgotten[0]?.position ?? 0,',
  },
  {
    name: 'one event is replaced by its summary',
    file: 'context/condenser/rolling.ts',
    find: 'const LEAST = 2',
    replace: 'const LEAST = 1',
  },
  {
    name: 'a request is overheard',
    file: 'context/condenser/rolling.ts',
    find: "const triggers: CondensationTrigger[] = view.unhandledCondensationRequest ? ['request'] : []",
    replace: 'const triggers: CondensationTrigger[] = []',
  },
  {
    name: 'earlier summaries are lost on the summariser',
    file: 'context/condenser/summary-request.ts',
    find: "else if (unit.item.event.kind === 'CondensationSummaryEvent') summaries.push(unit.item.event.summary)",
    replace: "else if (unit.item.event.kind === 'CondensationSummaryEvent') continue",
  },
  {
    name: 'the summariser is not told results',
    file: 'context/condenser/summary-request.ts',
    find: 'for (const result of unit.results) events.push(ofResult(result))',
    replace: '',
  },
  {
    name: 'a cut leaves a view with nothing to send',
    file: 'context/budget.ts',
    find: 'return blocks.findLastIndex((block) => block.units.some(isSent))',
    replace: 'return blocks.length',
  },
  {
    name: 'a budget is one short',
    file: 'context/budget.ts',
    find: 'if (tokens > budget || messages.length === 0) return false',
    replace: 'if (tokens >= budget || messages.length === 0) return false',
  },
  {
    name: 'every cut point is counted',
    file: 'context/budget.ts',
    find: 'const middle = (low + high) >>> 1',
    replace: 'const middle = low',
  },
  {
    name: 'masked results forget what they answer',
    file: 'context/masking.ts',
    find: 'return { ...message, content: [text] }',
    replace: "return { ...message, tool_call_id: '', content: [text] }",
  },
  {
    name: 'the last results are masked',
    file: 'context/masking.ts',
    find: 'if ((remaining -= 1) < 0) break',
    replace: 'if ((remaining -= 1) < -1) break',
  },
  {
    name: 'a mask moves with each result',
    file: 'context/masking.ts',
    find: 'if (saved < stride) continue',
    replace: 'if (saved < 1) continue',
  },
  {
    name: 'a mask goes back when results are added',
    file: 'context/masking.ts',
    find: 'for (const old of waiting) out[old.index] = old.mask',
    replace: 'for (const old of waiting.slice(remaining % 2)) out[old.index] = old.mask',
  },
  {
    name: 'results that save nothing are masked',
    file: 'context/masking.ts',
    find: 'if (saves <= 0) continue',
    replace: '',
  },
  {
    name: 'a message that grew is stable',
    file: 'context/explain-prefix.ts',
    find: 'index < Math.max(was.length, is.length)',
    replace: 'index < was.length',
  },
  {
    name: 'marks that were there stay',
    file: 'context/cache-breakpoints.ts',
    find: 'return isMarked(index) ? { ...rest, cache_prompt: true } : rest',
    replace: 'return isMarked(index) ? { ...rest, cache_prompt: true } : part',
  },
]
