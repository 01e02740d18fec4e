/** An item of each kind from OpenAI's own tools, grouped into units that occur together. */

import type { ResponseOutputItem } from 'openai/resources/responses/responses'

/** Any item without event fields of its own, except those of clients. */
export type ServerItem = Exclude<
  ResponseOutputItem,
  { type: 'message' | 'reasoning' | 'function_call' | 'custom_tool_call' }
>

const completed = 'completed'

/** Each number makes unique ids. */
export const RESPONSES_UNITS: readonly ((n: number) => ServerItem[])[] = [
  (n) => [
    {
      type: 'web_search_call',
      id: `ws_${n}`,
      status: completed,
      action: { type: 'search', query: 'oak', queries: ['oak'] },
    },
  ],
  (n) => [{ type: 'file_search_call', id: `fs_${n}`, status: completed, queries: ['oak'], results: null }],
  (n) => [
    {
      type: 'code_interpreter_call',
      id: `ci_${n}`,
      status: completed,
      code: 'print(1)',
      container_id: `cntr_${n}`,
      outputs: [{ type: 'logs', logs: '1\n' }],
    },
  ],
  (n) => [{ type: 'image_generation_call', id: `ig_${n}`, status: completed, result: 'iVBORw0KGgo=' }],
  (n) => [
    {
      type: 'mcp_list_tools',
      id: `mcpl_${n}`,
      server_label: 'echo',
      tools: [{ name: 'echo', input_schema: {}, annotations: null, description: '' }],
    },
  ],
  (n) => [
    {
      type: 'mcp_call',
      id: `mcp_${n}`,
      server_label: 'echo',
      name: 'echo',
      arguments: '{"text":"hi"}',
      output: 'hi',
      error: null,
      approval_request_id: null,
      status: completed,
    },
  ],
  (n) => [
    {
      type: 'mcp_approval_request',
      id: `mcpr_${n}`,
      server_label: 'echo',
      name: 'echo',
      arguments: '{}',
    },
  ],
  (n) => [
    { type: 'program', id: `cm_${n}`, call_id: `call_p${n}`, code: 'text("1")', fingerprint: `gAAA${n}` },
    { type: 'program_output', id: `co_${n}`, call_id: `call_p${n}`, result: '1', status: completed },
  ],
  (n) => [
    {
      type: 'tool_search_call',
      id: `tsc_${n}`,
      call_id: null,
      execution: 'server',
      status: completed,
      arguments: { paths: ['ls'] },
    },
    {
      type: 'tool_search_output',
      id: `tso_${n}`,
      call_id: null,
      execution: 'server',
      status: completed,
      tools: [{ type: 'function', name: 'ls', parameters: {}, strict: true }],
    },
  ],
  (n) => [{ type: 'compaction', id: `cmp_${n}`, encrypted_content: `gAAAc${n}` }],
  (n) => [
    {
      type: 'shell_call',
      id: `sh_${n}`,
      call_id: `call_s${n}`,
      action: { commands: ['ls'], max_output_length: null, timeout_ms: null },
      environment: { type: 'container_reference', container_id: `cntr_${n}` },
      status: completed,
    },
    {
      type: 'shell_call_output',
      id: `sho_${n}`,
      call_id: `call_s${n}`,
      max_output_length: null,
      output: [{ stdout: 'a\n', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      status: completed,
    },
  ],
  (n) => [
    {
      type: 'apply_patch_call',
      id: `apc_${n}`,
      call_id: `call_a${n}`,
      operation: { type: 'delete_file', path: 'a' },
      status: completed,
    },
    {
      type: 'apply_patch_call_output',
      id: `apco_${n}`,
      call_id: `call_a${n}`,
      status: completed,
      output: '',
    },
  ],
]

/** With the tool that each calls. */
export const CLIENT_CALLS: readonly ((n: number) => ResponseOutputItem)[] = [
  (n) => ({
    type: 'custom_tool_call',
    id: `ctc_${n}`,
    call_id: `call_${n}`,
    name: 'ls',
    input: 'free text \n',
  }),
  (n) => ({
    type: 'shell_call',
    id: `sh_c${n}`,
    call_id: `call_${n}`,
    action: { commands: ['ls'], max_output_length: null, timeout_ms: 1 },
    environment: { type: 'local' },
    status: completed,
  }),
  (n) => ({
    type: 'local_shell_call',
    id: `lsh_${n}`,
    call_id: `call_${n}`,
    action: { type: 'exec', command: ['ls'], env: {} },
    status: completed,
  }),
  (n) => ({
    type: 'apply_patch_call',
    id: `apc_c${n}`,
    call_id: `call_${n}`,
    operation: { type: 'create_file', path: 'a', diff: '+a\n' },
    status: completed,
  }),
  (n) => ({
    type: 'computer_call',
    id: `cu_${n}`,
    call_id: `call_${n}`,
    action: { type: 'click', button: 'left', x: 1, y: 2 },
    pending_safety_checks: [{ id: `cu_sc_${n}`, code: 'malicious', message: 'Look.' }],
    status: completed,
  }),
  (n) => ({
    type: 'computer_call',
    id: `cu_${n}`,
    call_id: `call_${n}`,
    actions: [{ type: 'type', text: 'oak' }, { type: 'screenshot' }],
    pending_safety_checks: [],
    status: completed,
  }),
]
