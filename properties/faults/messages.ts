/** Faults in src/messages/. */

import type { Fault } from './fault.ts'

export const MESSAGES_FAULTS: readonly Fault[] = [
  {
    name: 'a pending batch is sent',
    file: 'messages/neutral.ts',
    find: "if (pending !== 'omit' || !isPending(unit))",
    replace: 'if (unit.calls.length > 0)',
  },
  {
    name: 'a part that a grammar cannot express is not named',
    file: 'messages/pieces.ts',
    find: 'form.text : placeholderOf(part), cache)',
    replace: "form.text : '[...]', cache)",
  },
  {
    name: 'a part is sent even if its shape is invalid',
    file: 'messages/pieces.ts',
    find: 'if (fits(block))',
    replace: "if (block['type'] !== '')",
  },
  {
    name: 'a file stays in a result where results allow no files',
    file: 'messages/pieces.ts',
    find: '!piece.result)',
    replace: 'false)',
  },
  {
    name: 'only the text of the first action is sent',
    file: 'messages/results.ts',
    find: 'content: actions.flatMap((action) => action.thought),',
    replace: 'content: actions.slice(0, 1).flatMap((action) => action.thought),',
  },
  {
    name: 'a repeated call id is sent unchanged',
    file: 'messages/turns.ts',
    find: 'if (used.has(id)) {',
    replace: "if (used.has(id) && id === '') {",
  },
  {
    name: 'arguments that are not an object are sent unchanged',
    file: 'messages/text.ts',
    find: 'return parseObject(text) === null ? JSON.stringify({ _raw: text }) : text',
    replace: 'return text',
  },
  {
    name: 'unsigned thinking is sent',
    file: 'messages/reply-parts.ts',
    find: 'return signature && signature.isWellFormed() && thinking.isWellFormed() ? { thinking, signature } : null',
    replace: "return thinking.isWellFormed() ? { thinking, signature: signature ?? '' } : null",
  },
  {
    name: 'signed thinking is trimmed',
    file: 'messages/reply-parts.ts',
    find: 'thinking.isWellFormed() ? { thinking, signature } : null',
    replace: 'thinking.isWellFormed() ? { thinking: thinking.trim(), signature } : null',
  },
  {
    name: 'a request may begin with an assistant message',
    file: 'messages/turns.ts',
    find: 'if (last === undefined) push(userTurn(OPENING))',
    replace: 'if (last === undefined) turns.push()',
  },
  {
    name: 'lone surrogates are sent',
    file: 'messages/pieces.ts',
    find: 'text: text.toWellFormed(),',
    replace: 'text,',
  },
  {
    name: 'blank texts are sent',
    file: 'messages/pieces.ts',
    find: 'return isWhitespace(part.text) ? [] : [textPiece(part.text, cache, part)]',
    replace: 'return [textPiece(part.text, cache, part)]',
  },
  {
    name: "a result is sent under its own call id instead of the call's",
    file: 'messages/results.ts',
    find: 'messageFor(call, contentWithin(result, maxLength), isError(result))',
    replace:
      'messageFor({ ...call, tool_call_id: result.tool_call_id }, contentWithin(result, maxLength), isError(result))',
  },
  {
    name: "a result is sent under the provider's id of its call",
    file: 'messages/results.ts',
    find: "return { role: 'tool', content, tool_call_id: call.tool_call_id, name: call.tool_name, is_error }",
    replace:
      "return { role: 'tool', content, tool_call_id: call.tool_call.id, name: call.tool_name, is_error }",
  },
  {
    name: 'the extended content of a message is omitted',
    file: 'messages/neutral.ts',
    find: '...(extended_content ?? []),',
    replace: '',
  },
  {
    name: 'the extended content of a result is sent first',
    file: 'messages/results.ts',
    find: 'return [...observationContent(result.observation), ...(result.extended_content ?? [])]',
    replace: 'return [...(result.extended_content ?? []), ...observationContent(result.observation)]',
  },
  {
    name: 'a failed result is sent without its error line',
    file: 'messages/results.ts',
    find: "return observation.is_error === true ? [{ type: 'text', text: ERROR_LINE }, ...body] : [...body]",
    replace: 'return [...body]',
  },
  {
    name: 'consecutive user messages are not merged',
    file: 'messages/neutral.ts',
    find: 'else if (rendered !== null && open === null) {',
    replace: 'else if (rendered !== null) {',
  },
  {
    name: 'the second of two user messages is lost',
    file: 'messages/neutral.ts',
    find: 'for (const part of rendered?.message.content ?? [])',
    replace: 'for (const part of [] as Content[])',
  },
  {
    name: 'no signed part is ever sent',
    file: 'messages/prefix.ts',
    find: 'if (state.isProven || turn.bound === 0) return state.isProven',
    replace: 'if (turn.bound === 0) return state.isProven',
  },
  {
    name: 'no signed part is sent again after one change',
    file: 'messages/prefix.ts',
    find: "else if (typeof prefix === 'string' && made === grammar) state.isProven = true",
    replace: '',
  },
  {
    name: 'signed parts are sent after a changed prefix',
    file: 'messages/prefix.ts',
    find: "if (typeof prefix === 'string' && prefix !== digitsOf(state.digest)) return 'prefix'",
    replace: '',
  },
  {
    name: 'the parts of a reply are sent in another order',
    file: 'messages/reply-parts.ts',
    find: 'const ownRefs = isOwn ? refsOf(reply.parts, message, kinds, signedIn(message, limits)) : null',
    replace: 'const ownRefs = isOwn ? refsOf(null, message, kinds, signedIn(message, limits)) : null',
  },
  {
    name: 'results of a server tool are sent as text in their own grammar',
    file: 'messages/reply-parts.ts',
    find: "ref.kind === 'other' && !isReturnable(limits, ref.value) ? unsent(ref) : [ref]",
    replace: "ref.kind === 'other' ? unsent(ref) : [ref]",
  },
  {
    name: 'text between two thinking parts is trimmed',
    file: 'messages/write.ts',
    find: 'textsOfPart(part, keepsSigned && position < bound)',
    replace: 'textsOfPart(part, keepsSigned && position > bound)',
  },
  {
    name: 'thinking is sent after the tool list has changed',
    file: 'messages/prefix.ts',
    find: "if (typeof seen === 'string' && toolList !== null && seen !== toolList) return 'tools'",
    replace: '',
  },
  {
    name: 'parts that another model signed are sent',
    file: 'messages/prefix.ts',
    find: 'requested !== withoutDate(model)',
    replace: "model === ''",
  },
  {
    name: 'a change inside a reply is not detected',
    file: 'messages/prefix.ts',
    find: "return written === digest || written === cuts?.[message.tool_calls.length - 1] ? null : 'reply'",
    replace: 'return null',
  },
  {
    name: 'the first call of another model goes to Gemini without a signature',
    file: 'messages/google/write.ts',
    find: '(ref === first ? NO_SIGNATURE : null)',
    replace: 'null',
  },
  {
    name: 'Gemini receives signatures after a changed past',
    file: 'messages/google/write.ts',
    find: '(keepsSigned ? signatureOf(message, ref, LIMITS,',
    replace: '(true ? signatureOf(message, ref, LIMITS,',
  },
  {
    name: 'a user message to Gemini is merged with results',
    file: 'messages/google/write.ts',
    find: "state.isOpen = role === 'user'",
    replace: "state.isOpen = role !== 'assistant'",
  },
  {
    name: 'events that a condensation keeps count as removed',
    file: 'messages/timeline.ts',
    find: 'removedUnits(branchOf(entry.parent).view, entry as EventEntry<Condensation>, log)',
    replace: '[...branchOf(entry.parent).view.units]',
  },
  {
    name: 'a reply is shown after messages that its model had not read',
    file: 'messages/ui/write.ts',
    find: 'turns.findLast((turn) => turn.seq <= seq)',
    replace: 'turns.at(-1)',
  },
  {
    name: 'the result of a condensed call is not shown',
    file: 'state/read.ts',
    find: "match === null || typeof match === 'string' ? null : match.entry.seq",
    replace: 'match === null ? null : null',
  },
]
