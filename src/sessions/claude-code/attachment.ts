/** Reads the attachments of Claude Code: what the client put beside a message, hooks, and messages that had to wait. */

import { HOOK_EVENT_TYPES, type JsonValue } from '../../event/shapes.ts'
import type { HookEventType } from '../../event/types.ts'
import { objectOf, stringOf } from '../../messages/found.ts'
import { contentOf } from '../content.ts'
import type { Origin, SessionWriter } from '../writer.ts'
import type { Line } from './lines.ts'

const isHook = (name: string): name is HookEventType => HOOK_EVENT_TYPES.some((type) => type === name)

/** Adds what an attachment says. What says nothing that an event has a place for is kept beside the conversation. */
export function addAttachment({ record, found }: Line, writer: SessionWriter, origin: Origin): void {
  const attachment = objectOf(found['attachment'])
  const type = stringOf(attachment['type'])
  const hook = stringOf(attachment['hookEvent'])
  const { prompt, exitCode } = attachment
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
  } else writer.update(`claude-code.${type || 'attachment'}`, record.value as JsonValue, origin)
}
