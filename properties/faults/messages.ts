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
    name: 'a part that a grammar lacks is left out',
    file: 'messages/pieces.ts',
    find: 'if (!fits) return textPiece(placeholderOf(part), cache)',
    replace: "if (!fits) return textPiece('[...]', cache)",
  },
  {
    name: 'a part is sent whatever its shape is',
    file: 'messages/pieces.ts',
    find: 'if (accepted.fits(block))',
    replace: "if (block['type'] !== '')",
  },
  {
    name: 'a file that results do not take stays in one',
    file: 'messages/pieces.ts',
    find: '!piece.result)',
    replace: 'false)',
  },
  {
    name: "only the first action's words are sent",
    file: 'messages/results.ts',
    find: 'content: actions.flatMap((action) => action.thought),',
    replace: 'content: actions.slice(0, 1).flatMap((action) => action.thought),',
  },
  {
    name: 'a repeated call id is sent as it is',
    file: 'messages/turns.ts',
    find: 'if (used.has(id)) {',
    replace: "if (used.has(id) && id === '') {",
  },
  {
    name: 'arguments that are no object are sent as they are',
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
    name: 'signed thinking is put right',
    file: 'messages/reply-parts.ts',
    find: 'thinking.isWellFormed() ? { thinking, signature } : null',
    replace: 'thinking.isWellFormed() ? { thinking: thinking.trim(), signature } : null',
  },
  {
    name: 'a history may begin with the assistant',
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
    name: 'a result is told under its own call id',
    file: 'messages/results.ts',
    find: 'messageFor(call, contentWithin(result, maxLength), isError(result))',
    replace:
      'messageFor({ ...call, tool_call_id: result.tool_call_id }, contentWithin(result, maxLength), isError(result))',
  },
  {
    name: 'a result is told under the id that its call has with the provider',
    file: 'messages/results.ts',
    find: "return { role: 'tool', content, tool_call_id: call.tool_call_id, name: call.tool_name, is_error }",
    replace:
      "return { role: 'tool', content, tool_call_id: call.tool_call.id, name: call.tool_name, is_error }",
  },
  {
    name: 'what a message was extended with is left out',
    file: 'messages/neutral.ts',
    find: '...(extended_content ?? []),',
    replace: '',
  },
  {
    name: 'what a result was extended with stands first',
    file: 'messages/results.ts',
    find: 'return [...observationContent(result.observation), ...(result.extended_content ?? [])]',
    replace: 'return [...(result.extended_content ?? []), ...observationContent(result.observation)]',
  },
  {
    name: 'a failed result does not say so',
    file: 'messages/results.ts',
    find: "return observation.is_error === true ? [{ type: 'text', text: ERROR_LINE }, ...body] : [...body]",
    replace: 'return [...body]',
  },
  {
    name: 'user messages do not merge',
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
    name: 'after one change no signed part is sent ever again',
    file: 'messages/prefix.ts',
    find: "else if (typeof prefix === 'string' && (made ?? grammar) === grammar) state.isProven = true",
    replace: '',
  },
  {
    name: 'signed parts are sent behind a changed prefix',
    file: 'messages/prefix.ts',
    find: "if (typeof prefix === 'string' && prefix !== digitsOf(state.digest)) return 'prefix'",
    replace: '',
  },
  {
    name: 'the parts of a reply are sent in another order',
    file: 'messages/reply-parts.ts',
    find: 'const ownRefs = isOwn ? refsOf(reply.parts, counts, signedIn(message, limits)) : null',
    replace: 'const ownRefs = isOwn ? refsOf(null, counts, signedIn(message, limits)) : null',
  },
  {
    name: 'what a server tool said is told in words to the server itself',
    file: 'messages/reply-parts.ts',
    find: "ref.kind === 'other' && !isReturnable(limits, ref.value) ? unsent(ref) : [ref]",
    replace: "ref.kind === 'other' ? unsent(ref) : [ref]",
  },
  {
    name: 'words between two thoughts are trimmed',
    file: 'messages/write.ts',
    find: 'textsOfPart(part, keepsSigned && position < bound)',
    replace: 'textsOfPart(part, keepsSigned && position > bound)',
  },
  {
    name: 'what is thought of tools that have changed is sent',
    file: 'messages/prefix.ts',
    find: "if (typeof seen === 'string' && toolList !== null && seen !== toolList) return 'tools'",
    replace: '',
  },
  {
    name: 'what another model has signed is sent',
    file: 'messages/prefix.ts',
    find: 'withoutDate(requested) !== withoutDate(model ?? requested)',
    replace: "model === ''",
  },
  {
    name: 'a change within a reply goes unnoticed',
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
    name: 'Gemini is sent signatures behind a past that has changed',
    file: 'messages/google/write.ts',
    find: '(keepsSigned ? signatureOf(message, ref, LIMITS,',
    replace: '(true ? signatureOf(message, ref, LIMITS,',
  },
  {
    name: 'what a user says to Gemini stands beside results',
    file: 'messages/google/write.ts',
    find: "state.isOpen = role === 'user'",
    replace: "state.isOpen = role !== 'assistant'",
  },
  {
    name: 'what a condensation leaves counts as forgotten',
    file: 'messages/timeline.ts',
    find: 'removedUnits(branchOf(entry.parent).view, entry as EventEntry<Condensation>, log)',
    replace: '[...branchOf(entry.parent).view.units]',
  },
  {
    name: 'a reply is shown behind messages that its model had not read',
    file: 'messages/ui/write.ts',
    find: 'turns.findLast((turn) => turn.seq <= seq)',
    replace: 'turns.at(-1)',
  },
  {
    name: 'the result of a forgotten call is not shown',
    file: 'state/read.ts',
    find: "match === null || typeof match === 'string' ? null : match.entry.seq",
    replace: 'match === null ? null : null',
  },
]
