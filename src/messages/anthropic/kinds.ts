/** What becomes of each kind of block of Anthropic Messages. */

import type { Kinds } from '../kinds.ts'

const CALLER = { caller: 'object?' } as const
const CALL = { id: 'id', name: 'text', input: 'object' } as const
const RESULT = {
  in: 'part',
  side: 'assistant',
  needs: { tool_use_id: 'id', content: 'any', ...CALLER },
} as const

export const KINDS = {
  text: { in: 'standard', side: 'both', more: { citations: 'objects' } },
  thinking: { in: 'standard', side: 'assistant', isSilent: true },
  redacted_thinking: { in: 'standard', side: 'assistant', isSilent: true },
  tool_use: { in: 'standard', side: 'assistant', more: { caller: 'object', toolset_name: 'text' } },
  server_tool_use: { in: 'part', side: 'assistant', needs: { ...CALL, ...CALLER }, says: ['name', 'input'] },
  web_search_tool_result: RESULT,
  web_fetch_tool_result: RESULT,
  advisor_tool_result: RESULT,
  code_execution_tool_result: { ...RESULT, says: ['content'] },
  bash_code_execution_tool_result: { ...RESULT, says: ['content'] },
  text_editor_code_execution_tool_result: { ...RESULT, says: ['content'] },
  tool_search_tool_result: RESULT,
  mcp_tool_use: {
    in: 'part',
    side: 'assistant',
    needs: { ...CALL, server_name: 'text' },
    says: ['name', 'input'],
  },
  mcp_tool_result: {
    in: 'part',
    side: 'assistant',
    needs: { tool_use_id: 'id', is_error: 'flag?' },
    says: ['content'],
  },
  mcp_tool_listing: {
    in: 'part',
    side: 'assistant',
    needs: { mcp_server_name: 'text', tools: 'objects' },
    says: ['mcp_server_name'],
  },
  container_upload: { in: 'part', side: 'both', needs: { file_id: 'text' }, says: ['file_id'] },
  compaction: {
    in: 'part',
    side: 'assistant',
    needs: { content: 'text?', encrypted_content: 'text?', signature: 'text?', tool_changes: 'objects?' },
    signed: 'encrypted_content',
  },
  fallback: { in: 'part', side: 'assistant', needs: { from: 'object', to: 'object' } },
} as const satisfies Kinds
