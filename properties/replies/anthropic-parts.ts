/** A block of each kind from Anthropic's server tools, grouped into units that occur together. */

import type { BetaContentBlock } from '@anthropic-ai/sdk/resources/beta/messages'

/** Any block without event fields of its own. */
export type ServerBlock = Exclude<
  BetaContentBlock,
  { type: 'text' | 'thinking' | 'redacted_thinking' | 'tool_use' }
>

type ServerTool = Extract<ServerBlock, { type: 'server_tool_use' }>['name']

const call = (n: number, name: ServerTool, input: { [key: string]: unknown }): ServerBlock => ({
  type: 'server_tool_use',
  id: `srvtoolu_${n}`,
  name,
  input,
  caller: { type: 'direct' },
})

/** Each number makes unique ids. */
export const ANTHROPIC_UNITS: readonly ((n: number) => ServerBlock[])[] = [
  (n) => [
    call(n, 'web_search', { query: 'oak', limit: n }),
    {
      type: 'web_search_tool_result',
      tool_use_id: `srvtoolu_${n}`,
      content: [
        {
          type: 'web_search_result',
          title: 'Oak',
          url: 'https://oak.example',
          encrypted_content: `EqgfCi${n}==`,
          page_age: null,
        },
      ],
      caller: { type: 'direct' },
    },
  ],
  (n) => [
    call(n, 'web_fetch', { url: 'https://oak.example' }),
    {
      type: 'web_fetch_tool_result',
      tool_use_id: `srvtoolu_${n}`,
      content: {
        type: 'web_fetch_result',
        url: 'https://oak.example',
        retrieved_at: null,
        content: {
          type: 'document',
          source: { type: 'text', media_type: 'text/plain', data: 'An oak.\n' },
          title: null,
          citations: { enabled: true },
        },
      },
    },
  ],
  (n) => [
    call(n, 'advisor', {}),
    {
      type: 'advisor_tool_result',
      tool_use_id: `srvtoolu_${n}`,
      content: { type: 'advisor_result', text: 'Do it.', stop_reason: null },
    },
  ],
  (n) => [
    call(n, 'code_execution', { code: 'print(1)' }),
    {
      type: 'code_execution_tool_result',
      tool_use_id: `srvtoolu_${n}`,
      content: { type: 'code_execution_result', stdout: '1\n', stderr: '', return_code: 0, content: [] },
    },
  ],
  (n) => [
    call(n, 'bash_code_execution', { command: 'ls' }),
    {
      type: 'bash_code_execution_tool_result',
      tool_use_id: `srvtoolu_${n}`,
      content: { type: 'bash_code_execution_result', stdout: 'a\n', stderr: '', return_code: 0, content: [] },
    },
  ],
  (n) => [
    call(n, 'text_editor_code_execution', { command: 'view', path: 'a' }),
    {
      type: 'text_editor_code_execution_tool_result',
      tool_use_id: `srvtoolu_${n}`,
      content: {
        type: 'text_editor_code_execution_view_result',
        content: 'a',
        file_type: 'text',
        num_lines: 1,
        start_line: 1,
        total_lines: 1,
      },
    },
  ],
  (n) => [
    call(n, 'tool_search_tool_regex', { pattern: 'ls' }),
    {
      type: 'tool_search_tool_result',
      tool_use_id: `srvtoolu_${n}`,
      content: {
        type: 'tool_search_tool_search_result',
        tool_references: [{ type: 'tool_reference', tool_name: 'ls' }],
      },
    },
  ],
  (n) => [
    { type: 'mcp_tool_use', id: `mcptoolu_${n}`, name: 'echo', server_name: 'echo', input: { text: 'hi' } },
    {
      type: 'mcp_tool_result',
      tool_use_id: `mcptoolu_${n}`,
      is_error: false,
      content: [{ type: 'text', text: 'hi', citations: null }],
    },
  ],
  () => [{ type: 'mcp_tool_listing', mcp_server_name: 'echo', tools: [{ name: 'echo', input_schema: {} }] }],
  (n) => [{ type: 'container_upload', file_id: `file_${n}` }],
  (n) => [{ type: 'compaction', content: 'So far.', encrypted_content: `EnoH${n}==` }],
  () => [{ type: 'compaction', content: 'So far.', encrypted_content: null }],
  () => [
    {
      type: 'fallback',
      from: { model: 'one' },
      to: { model: 'another' },
      trigger: { type: 'refusal', category: null },
    },
  ],
]
