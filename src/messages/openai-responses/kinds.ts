/** What becomes of each kind of item of OpenAI Responses. */

import type { Kinds } from '../kinds.ts'

const PART = { in: 'part', side: 'assistant' } as const
const MCP = { id: 'id', server_label: 'text', name: 'text', arguments: 'text' } as const
const SEARCH = { id: 'text?', call_id: 'text?', execution: 'text', status: 'text?' } as const
const GIVEN = { in: 'standard', side: 'user' } as const
const CALL = { in: 'call', side: 'assistant' } as const

export const KINDS = {
  message: {
    in: 'standard',
    side: 'both',
    more: { id: 'id', phase: 'text', status: 'text', annotations: 'objects', type: 'text' },
  },
  reasoning: {
    in: 'standard',
    side: 'assistant',
    needs: { id: 'id', summary: 'objects' },
    signed: 'encrypted_content',
    isSilent: true,
  },
  function_call: { in: 'standard', side: 'assistant', more: { caller: 'object', namespace: 'text' } },
  file_search_call: {
    ...PART,
    needs: { id: 'id', queries: 'texts', status: 'text', results: 'objects?' },
    says: ['queries'],
  },
  web_search_call: { ...PART, needs: { id: 'id', action: 'object', status: 'text' }, says: ['action'] },
  code_interpreter_call: {
    ...PART,
    needs: { id: 'id', container_id: 'text', status: 'text', code: 'text?', outputs: 'objects?' },
    says: ['code', 'outputs'],
  },
  image_generation_call: {
    ...PART,
    needs: { id: 'id', status: 'text', result: 'text?' },
    says: ['revised_prompt'],
  },
  mcp_list_tools: {
    ...PART,
    needs: { id: 'id', server_label: 'text', tools: 'objects' },
    says: ['server_label'],
  },
  mcp_call: {
    ...PART,
    needs: {
      ...MCP,
      output: 'text?',
      approval_request_id: 'text?',
      status: 'text?',
    },
    says: ['name', 'arguments', 'output', 'error'],
  },
  mcp_approval_request: {
    ...PART,
    needs: MCP,
    says: ['name', 'arguments'],
  },
  program: {
    ...PART,
    needs: { id: 'id', call_id: 'id', code: 'text', fingerprint: 'text' },
    says: ['code'],
  },
  program_output: {
    ...PART,
    needs: { id: 'id', call_id: 'id', result: 'text', status: 'text' },
    says: ['result'],
  },
  tool_search_call: { ...PART, needs: { ...SEARCH, arguments: 'any' }, says: ['arguments'] },
  tool_search_output: { ...PART, needs: { ...SEARCH, tools: 'objects' } },
  compaction: { ...PART, needs: { id: 'text?', encrypted_content: 'text' }, signed: 'encrypted_content' },
  custom_tool_call: CALL,
  computer_call: { ...CALL, needs: { id: 'id' } },
  local_shell_call: { ...CALL, needs: { id: 'id' } },
  /** These two the provider may execute itself; then they are kept whole, with their outputs. */
  shell_call: { ...CALL, needs: { call_id: 'id', action: 'object' }, says: ['action'] },
  apply_patch_call: {
    ...CALL,
    needs: { call_id: 'id', operation: 'object', status: 'text' },
    says: ['operation'],
  },
  shell_call_output: { ...PART, needs: { call_id: 'id', output: 'objects' }, says: ['output'] },
  apply_patch_call_output: {
    ...PART,
    needs: { call_id: 'id', status: 'text', output: 'text?' },
    says: ['status', 'output'],
  },
  /** In a list of items, but in no reply: what a client says. */
  function_call_output: GIVEN,
  custom_tool_call_output: GIVEN,
  computer_call_output: GIVEN,
  local_shell_call_output: GIVEN,
  mcp_approval_response: GIVEN,
  additional_tools: GIVEN,
} as const satisfies Kinds
