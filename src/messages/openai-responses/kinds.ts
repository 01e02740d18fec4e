/** What becomes of each kind of item of OpenAI Responses. */

import type { Kinds } from '../kinds.ts'
import { absent, id, objects } from '../part-shapes.ts'
import { anything, listOf, object, string } from '../shape.ts'

const PART = { in: 'part', side: 'assistant' } as const
const MCP = { id: id, server_label: string, name: string, arguments: string } as const
const SEARCH = {
  id: absent(string),
  call_id: absent(string),
  execution: string,
  status: absent(string),
} as const
const GIVEN = { in: 'standard', side: 'user' } as const
const CALL = { in: 'call', side: 'assistant' } as const

export const KINDS = {
  message: {
    in: 'standard',
    side: 'both',
    more: { id: id, phase: string, status: string, annotations: objects, type: string },
  },
  reasoning: {
    in: 'standard',
    side: 'assistant',
    needs: { id: id, summary: objects },
    signed: 'encrypted_content',
  },
  function_call: { in: 'standard', side: 'assistant', more: { caller: object, namespace: string } },
  file_search_call: {
    ...PART,
    needs: { id: id, queries: listOf(string), status: string, results: absent(objects) },
  },
  web_search_call: { ...PART, needs: { id: id, action: object, status: string } },
  code_interpreter_call: {
    ...PART,
    needs: { id: id, container_id: string, status: string, code: absent(string), outputs: absent(objects) },
  },
  image_generation_call: {
    ...PART,
    needs: { id: id, status: string, result: absent(string) },
  },
  mcp_list_tools: {
    ...PART,
    needs: { id: id, server_label: string, tools: objects },
  },
  mcp_call: {
    ...PART,
    needs: {
      ...MCP,
      output: absent(string),
      approval_request_id: absent(string),
      status: absent(string),
    },
  },
  mcp_approval_request: {
    ...PART,
    needs: MCP,
  },
  program: {
    ...PART,
    needs: { id: id, call_id: id, code: string, fingerprint: string },
  },
  program_output: {
    ...PART,
    needs: { id: id, call_id: id, result: string, status: string },
  },
  tool_search_call: { ...PART, needs: { ...SEARCH, arguments: anything } },
  tool_search_output: { ...PART, needs: { ...SEARCH, tools: objects } },
  compaction: {
    ...PART,
    needs: { id: absent(string), encrypted_content: string },
    signed: 'encrypted_content',
  },
  custom_tool_call: CALL,
  computer_call: { ...CALL, needs: { id: id } },
  local_shell_call: { ...CALL, needs: { id: id } },
  /** These two the provider may execute itself; then they are kept whole, with their outputs. */
  shell_call: { ...CALL, needs: { call_id: id, action: object } },
  apply_patch_call: {
    ...CALL,
    needs: { call_id: id, operation: object, status: string },
  },
  shell_call_output: { ...PART, needs: { call_id: id, output: objects } },
  apply_patch_call_output: {
    ...PART,
    needs: { call_id: id, status: string, output: absent(string) },
  },
  /** In a list of items, but in no reply: what a client says. */
  function_call_output: GIVEN,
  custom_tool_call_output: GIVEN,
  computer_call_output: GIVEN,
  local_shell_call_output: GIVEN,
  mcp_approval_response: GIVEN,
  additional_tools: GIVEN,
} as const satisfies Kinds
