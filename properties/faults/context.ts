/** Faults in src/context/. */

import type { Fault } from './fault.ts'

export const CONTEXT_FAULTS: readonly Fault[] = [
  {
    name: 'a condensation may remove the system prompt',
    file: 'context/blocks.ts',
    find: 'if (id === systemPrompt && permissions.forgetSystemPrompt !== true) fixed.add(unit)',
    replace: '',
  },
  {
    name: 'a condensation may remove the last user message',
    file: 'context/blocks.ts',
    find: 'if (lastUser !== null && permissions.forgetLastUserMessage !== true) fixed.add(lastUser)',
    replace: '',
  },
  {
    name: 'a condensation may list an id that two units have',
    file: 'context/blocks.ts',
    find: 'if (other !== undefined && other !== unit) fixed.add(unit).add(other)',
    replace: '',
  },
  {
    name: 'a condensation may remove a reply that a pending batch continues',
    file: 'context/blocks.ts',
    find: 'fixed.has(unit) || isPending(unit)',
    replace: 'fixed.has(unit)',
  },
  {
    name: 'a removable block ends inside a stretch',
    file: 'context/blocks.ts',
    find: 'while (starts[end] === index) end += 1',
    replace: '',
  },
  {
    name: 'a summary is inserted before the events that it summarises',
    file: 'context/condenser/rolling.ts',
    find: 'summaryOffset: last.position + last.count - countEvents(forgotten),',
    replace: 'summaryOffset: forgotten[0]?.position ?? 0,',
  },
  {
    name: 'a single event may be replaced by its summary',
    file: 'context/condenser/rolling.ts',
    find: 'const LEAST = 2',
    replace: 'const LEAST = 1',
  },
  {
    name: 'a requested condensation is ignored',
    file: 'context/condenser/rolling.ts',
    find: "const triggers: CondensationTrigger[] = view.unhandledCondensationRequest ? ['request'] : []",
    replace: 'const triggers: CondensationTrigger[] = []',
  },
  {
    name: 'the summariser does not receive earlier summaries',
    file: 'context/condenser/summary-request.ts',
    find: "else if (unit.item.event.kind === 'CondensationSummaryEvent') summaries.push(unit.item.event.summary)",
    replace: "else if (unit.item.event.kind === 'CondensationSummaryEvent') continue",
  },
  {
    name: 'the summariser does not receive results',
    file: 'context/condenser/summary-request.ts',
    find: 'for (const result of unit.results) events.push(ofResult(result))',
    replace: '',
  },
  {
    name: 'a cut may leave a view without messages',
    file: 'context/budget.ts',
    find: 'return blocks.findLastIndex((block) => block.units.some(isSent))',
    replace: 'return blocks.length',
  },
  {
    name: 'a request of exactly the budget counts as over it',
    file: 'context/budget.ts',
    find: 'if (tokens > budget || messages.length === 0) return false',
    replace: 'if (tokens >= budget || messages.length === 0) return false',
  },
  {
    name: 'the search for a cut counts the tokens at every cut point',
    file: 'context/budget.ts',
    find: 'firstFit(first + 1, lastCut(blocks, first), (end) => {',
    replace: `;((from: number, to: number, fits: (end: number) => boolean) => {
      for (let end = from; end <= to; end += 1) if (fits(end)) return
    })(first + 1, lastCut(blocks, first), (end) => {`,
  },
  {
    name: 'a masked result loses its call id',
    file: 'context/masking.ts',
    find: 'return { ...message, content: [text] }',
    replace: "return { ...message, tool_call_id: '', content: [text] }",
  },
  {
    name: 'one of the kept last results is masked',
    file: 'context/masking.ts',
    find: 'if ((remaining -= 1) < 0) break',
    replace: 'if ((remaining -= 1) < -1) break',
  },
  {
    name: 'masks change at each result, without a stride',
    file: 'context/masking.ts',
    find: 'if (saved < stride) continue',
    replace: 'if (saved < 1) continue',
  },
  {
    name: 'a masked result is sent in full again when results are added',
    file: 'context/masking.ts',
    find: 'for (const old of waiting) out[old.index] = old.mask',
    replace: 'for (const old of waiting.slice(remaining % 2)) out[old.index] = old.mask',
  },
  {
    name: 'results are masked even if this saves no token',
    file: 'context/masking.ts',
    find: 'if (saves <= 0) continue',
    replace: '',
  },
  {
    name: 'a message that grew counts as unchanged',
    file: 'context/explain-prefix.ts',
    find: 'index < Math.max(before.length, now.length)',
    replace: 'index < before.length',
  },
  {
    name: 'old cache marks are kept',
    file: 'context/cache-breakpoints.ts',
    find: 'return isMarked(index) ? { ...rest, cache_prompt: true } : rest',
    replace: 'return isMarked(index) ? { ...rest, cache_prompt: true } : part',
  },
]
