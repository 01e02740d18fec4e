/** What becomes of each kind of block of Anthropic Messages. */

import type { Kinds } from '../kinds.ts'
import { absent, id, objects } from '../part-shapes.ts'
import { anything, boolean, object, oneOf, string } from '../shape.ts'

const CALLER = { caller: absent(object) } as const
const CALL = { id: id, name: string, input: object } as const
const RESULT = {
  in: 'part',
  side: 'assistant',
  needs: { tool_use_id: id, content: anything, ...CALLER },
} as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: { citations: objects } },
  thinking: { in: 'standard', side: 'assistant' },
  redacted_thinking: { in: 'standard', side: 'assistant' },
  tool_use: { in: 'standard', side: 'assistant', more: { caller: object, toolset_name: string } },
  server_tool_use: { in: 'part', side: 'assistant', needs: { ...CALL, ...CALLER } },
  web_search_tool_result: RESULT,
  web_fetch_tool_result: RESULT,
  advisor_tool_result: RESULT,
  code_execution_tool_result: RESULT,
  bash_code_execution_tool_result: RESULT,
  text_editor_code_execution_tool_result: RESULT,
  tool_search_tool_result: RESULT,
  mcp_tool_use: {
    in: 'part',
    side: 'assistant',
    needs: { ...CALL, server_name: string },
  },
  mcp_tool_result: {
    in: 'part',
    side: 'assistant',
    needs: { tool_use_id: id, is_error: absent(boolean) },
  },
  mcp_tool_listing: {
    in: 'part',
    side: 'assistant',
    needs: { mcp_server_name: string, tools: objects },
  },
  container_upload: { in: 'part', side: 'both', needs: { file_id: string } },
  compaction: {
    in: 'part',
    side: 'assistant',
    needs: {
      content: absent(string),
      encrypted_content: absent(string),
      // One that was asked for stands in front of everything, where a history that goes on keeps none.
      signature: absent(oneOf()),
      tool_changes: absent(objects),
    },
    signed: 'encrypted_content',
  },
  fallback: { in: 'part', side: 'assistant', needs: { from: object, to: object } },
} as const satisfies Kinds
