/** Deliberate faults in src/messages/: each breaks at least one law. */

import type { Fault } from './fault.ts'

export const MESSAGES_FAULTS: readonly Fault[] = [
  {
    name: 'a pending batch is sent',
    file: 'messages/neutral.ts',
    find: "const units = pending === 'omit' ? [...view.units].filter((unit) => !isPending(unit)) : [...view.units]",
    replace: 'const units = [...view.units]',
  },
  {
    name: "only the first action's words are sent",
    file: 'messages/batch.ts',
    find: 'content: actions.flatMap((action) => action.thought),',
    replace: 'content: actions.slice(0, 1).flatMap((action) => action.thought),',
  },
  {
    name: 'a repeated call id is sent as it is',
    file: 'messages/call-ids.ts',
    find: 'if (used.has(id)) {',
    replace: "if (used.has(id) && id === '') {",
  },
  {
    name: 'arguments that are no object are sent as they are',
    file: 'messages/arguments.ts',
    find: 'return parseObject(text) === null ? JSON.stringify({ _raw: text }) : text',
    replace: 'return text',
  },
  {
    name: 'unsigned thinking is sent',
    file: 'messages/thinking.ts',
    find: 'return signature && isWellFormed(signature) && isWellFormed(thinking) ? { thinking, signature } : null',
    replace: "return isWellFormed(thinking) ? { thinking, signature: signature ?? '' } : null",
  },
  {
    name: 'signed thinking is put right',
    file: 'messages/thinking.ts',
    find: 'isWellFormed(thinking) ? { thinking, signature } : null',
    replace: 'isWellFormed(thinking) ? { thinking: thinking.trim(), signature } : null',
  },
  {
    name: 'a history may begin with the assistant',
    file: 'messages/turns.ts',
    find: "if (turns[0]?.role !== 'user') turns.unshift({ role: 'user', pieces: [textPiece(OPENING)], name: null })",
    replace: '',
  },
  {
    name: 'lone surrogates are sent',
    file: 'messages/pieces.ts',
    find: 'text: wellFormed(text),',
    replace: 'text,',
  },
  {
    name: 'blank texts are sent',
    file: 'messages/pieces.ts',
    find: 'if (!isBlank(part.text)) pieces.push(textPiece(part.text, cache))',
    replace: 'pieces.push(textPiece(part.text, cache))',
  },
  {
    name: 'a result is told under its own call id',
    file: 'messages/tool-result.ts',
    find: "return { role: 'tool', content, tool_call_id: call.tool_call_id, name: call.tool_name, is_error }",
    replace:
      "return { role: 'tool', content, tool_call_id: call.tool_call.id, name: call.tool_name, is_error }",
  },
  {
    name: 'what a message was extended with is left out',
    file: 'messages/said.ts',
    find: '...(extended_content ?? []),',
    replace: '',
  },
  {
    name: 'what a result was extended with stands first',
    file: 'messages/tool-result.ts',
    find: 'return [...observationContent(answer.observation), ...(answer.extended_content ?? [])]',
    replace: 'return [...(answer.extended_content ?? []), ...observationContent(answer.observation)]',
  },
  {
    name: 'a failed result does not say so',
    file: 'messages/observation.ts',
    find: "return observation.is_error === true ? [{ type: 'text', text: ERROR_LINE }, ...body] : [...body]",
    replace: 'return [...body]',
  },
  {
    name: 'user messages do not merge',
    file: 'messages/neutral.ts',
    find: '} else if (open === null) {',
    replace: '} else if (open !== undefined) {',
  },
  {
    name: 'the second of two user messages is lost',
    file: 'messages/neutral.ts',
    find: '} else for (const part of said.message.content) open.push(part)',
    replace: '}',
  },
]
