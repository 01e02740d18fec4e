/** Reads the attachments of Claude Code: what the client put beside a message, hooks, and messages that had to wait. */

import { HOOK_EVENT_TYPES, type JsonValue } from '../../event/shapes.ts'
import type { HookEventType } from '../../event/types.ts'
import { type Found, objectOf, objectsOf, stringOf } from '../../messages/found.ts'
import { contentOf, textIn } from '../content.ts'
import type { Origin, SessionWriter } from '../writer.ts'
import type { Line } from './lines.ts'

const isHook = (name: string): name is HookEventType => HOOK_EVENT_TYPES.some((type) => type === name)

/** Adds what an attachment says. What says nothing that an event has a place for is kept beside the conversation. */
export function addAttachment({ record, found }: Line, writer: SessionWriter, origin: Origin): void {
  const attachment = objectOf(found['attachment'])
  const type = stringOf(attachment['type'])
  const hook = stringOf(attachment['hookEvent'])
  const { prompt, exitCode } = attachment
  const before = writer.head
  if (type === 'queued_command' && contentOf(prompt).length > 0) {
    writer.say('user', contentOf(prompt), origin)
  } else if (type === 'hook_success' && isHook(hook) && Number.isSafeInteger(exitCode)) {
    writer.add(
      {
        kind: 'HookExecutionEvent',
        source: 'hook',
        hook_event_type: hook,
        hook_command: stringOf(attachment['command']) || stringOf(attachment['hookName']),
        success: exitCode === 0,
        exit_code: exitCode as number,
        stdout: stringOf(attachment['stdout']),
        stderr: stringOf(attachment['stderr']),
      },
      origin,
    )
  } else {
    const { line, id, time } = origin
    writer.update(`claude-code.${type || 'attachment'}`, record.value as JsonValue, { line, id, time })
  }
  if (type === 'queued_command') return
  const words = contentOf(wordsOf(found, attachment))
  if (words.length === 0) return
  // Behind the execution of a hook, which stands in its place, it follows that.
  const id = `${origin.id ?? `line-${origin.line}`}.said`
  const { after: _, ...next } = origin
  writer.say('environment', words, writer.head === before ? { ...origin, id } : { ...next, id })
}

/** The events of hooks whose output models read. */
const READ: ReadonlySet<string> = new Set(['SessionStart', 'UserPromptSubmit', 'UserPromptExpansion'])

/** What was sent to the model for an attachment: newer versions say it, older ones what it was made of. */
function wordsOf(found: Found, { type, hookEvent, hookName, content }: Found): string[] {
  const rendered = objectsOf(found['rendered'])
  if (rendered.length > 0) return rendered.map((one) => textIn(one['content'])).filter((text) => text !== '')
  const hook = stringOf(hookName) || stringOf(hookEvent)
  if (type === 'hook_additional_context') {
    const text = (Array.isArray(content) ? content : [content]).map(stringOf).join('\n')
    return text.trim() === '' ? [] : [`${hook} hook additional context: ${text}`]
  }
  const isRead = type === 'hook_success' && READ.has(stringOf(hookEvent)) && stringOf(content) !== ''
  return isRead ? [`${hook} hook success: ${stringOf(content)}`] : []
}
