/** The block of a tool call that an ACP server ran by itself. */

import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import type { ACPToolCallEvent } from '../../event/types.ts'
import { hasText } from '../../event/text.ts'
import type { ToolBlock } from './tool-block.ts'

/**
 * The block of an ACP call; null while nothing is known of it but that it was made. 0, false and the empty text are
 * results too.
 */
export function acpBlock(event: ACPToolCallEvent): ToolBlock | null {
  const { title, tool_kind, status, is_error = false, raw_input = null, raw_output = null } = event
  const content = (event.content ?? []).map(contentText).filter(hasText)
  if (raw_input === null && raw_output === null && !is_error && content.length === 0) return null
  return {
    name: [title, tool_kind].find(hasText) ?? 'tool',
    status: is_error ? 'failed' : hasText(status) ? (status ?? '') : 'completed',
    sections: [
      ['input', raw_input === null ? null : valueText(raw_input)],
      ['content', content.length === 0 ? null : content.join('\n')],
      ['output', raw_output === null ? null : valueText(raw_output)],
    ],
  }
}

const valueText = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** A content block in words. Producers write its fields in snake or camel case. */
function contentText(block: JsonValue): string {
  if (typeof block === 'string') return block
  if (!isObject(block)) return ''
  const type = field(block, 'type')
  switch (type) {
    case 'content': {
      const inner = block['content']
      // One wrapping is meant; more of them is no content.
      return isObject(inner) && inner['type'] !== 'content' ? contentText(inner) : ''
    }
    case 'text':
      return field(block, 'text') ?? ''
    case 'diff': {
      const what = field(block, 'old_text', 'oldText') === null ? 'write' : 'patch'
      return `[diff ${what}] ${field(block, 'path') ?? ''}\n${field(block, 'new_text', 'newText') ?? ''}`
    }
    case 'terminal':
      return `[terminal ${field(block, 'terminal_id', 'terminalId') ?? ''}]`
    default:
      return `[${type ?? 'content'}]`
  }
}

/** The first of some fields that is a text, or null. */
function field(block: JsonObject, ...names: readonly string[]): string | null {
  const values = names.map((name) => (Object.hasOwn(block, name) ? block[name] : undefined))
  return values.find((value): value is string => typeof value === 'string') ?? null
}
