/** Every kind of content and item that OpenAI Responses allows in user messages and tool results. */

import type {
  ResponseFunctionCallOutputItem,
  ResponseInputContent,
  ResponseInputItem,
} from 'openai/resources/responses/responses'
import { pdf, png, type Samples, type Table, url } from './part-table.ts'

const input_file: Samples<Extract<ResponseInputContent, { type: 'input_file' }>> = [
  (mark) => ({
    type: 'input_file',
    filename: 'a.pdf',
    file_data: `data:application/pdf;base64,${pdf(mark)}`,
  }),
  (mark) => ({ type: 'input_file', filename: `${mark}.csv`, file_data: `data:text/csv;base64,${mark}` }),
  (mark) => ({ type: 'input_file', file_url: url(mark), detail: 'low' }),
  (mark) => ({ type: 'input_file', file_id: mark, prompt_cache_breakpoint: { mode: 'explicit' } }),
]

/** Parts of a message or a result. */
export const responses = {
  input_text: { sent: [(mark) => ({ type: 'input_text', text: mark })] },
  input_image: {
    sent: [
      (mark) => ({ type: 'input_image', image_url: url(mark), detail: 'high' }),
      (mark) => ({ type: 'input_image', image_url: `data:image/png;base64,${png(mark)}`, detail: 'auto' }),
      (mark) => ({ type: 'input_image', file_id: mark, detail: 'low' }),
    ],
  },
  input_file: { sent: input_file },
} as const satisfies Table<ResponseInputContent> & Table<ResponseFunctionCallOutputItem>

const shot = { type: 'computer_screenshot' } as const
const exit = { type: 'exit', exit_code: 1 } as const

/** A user's responses to items of a reply. */
export const settling = {
  mcp_approval_response: {
    settles: [
      (mark) => ({ type: 'mcp_approval_response', approval_request_id: mark, approve: true }),
      (mark) => ({
        type: 'mcp_approval_response',
        approval_request_id: mark,
        approve: false,
        reason: 'No.',
      }),
    ],
  },
  tool_search_output: {
    settles: [
      (mark) => ({
        type: 'tool_search_output',
        call_id: mark,
        execution: 'client',
        status: 'completed',
        tools: [{ type: 'function', name: 'ls', parameters: {}, strict: true }],
      }),
    ],
  },
} as const satisfies Partial<Table<ResponseInputItem>>

/** Results of calls of special kinds. */
export const outputs = {
  custom_tool_call_output: {
    settles: [
      (mark) => ({ type: 'custom_tool_call_output', call_id: mark, output: `${mark} \n` }),
      (mark) => ({
        type: 'custom_tool_call_output',
        call_id: mark,
        output: [
          { type: 'input_text', text: 'a' },
          { type: 'input_file', file_id: 'file-1' },
        ],
      }),
    ],
  },
  shell_call_output: {
    settles: [
      (mark) => ({
        type: 'shell_call_output',
        call_id: mark,
        max_output_length: 9,
        output: [
          { stdout: `${mark}\n`, stderr: '', outcome: exit },
          { stdout: '', stderr: '', outcome: { type: 'timeout' } },
        ],
        status: 'completed',
      }),
    ],
  },
  local_shell_call_output: {
    settles: [
      (mark) => ({
        type: 'local_shell_call_output',
        id: mark,
        output: `{"a":"${mark}"}`,
        status: 'incomplete',
      }),
    ],
  },
  apply_patch_call_output: {
    settles: [
      (mark) => ({ type: 'apply_patch_call_output', call_id: mark, status: 'failed', output: mark }),
      (mark) => ({ type: 'apply_patch_call_output', call_id: mark, status: 'completed', output: null }),
    ],
  },
  computer_call_output: {
    settles: [
      (mark) => ({
        type: 'computer_call_output',
        call_id: mark,
        output: { ...shot, file_id: 'file-1' },
        acknowledged_safety_checks: [{ id: 'c', code: 'malicious', message: null }],
      }),
      (mark) => ({
        type: 'computer_call_output',
        call_id: mark,
        output: { ...shot, image_url: url(mark) },
      }),
    ],
  },
} as const satisfies Partial<Table<ResponseInputItem>>

/** All kinds of input items. */
export const responsesItems = {
  message: 'standard',
  function_call_output: 'standard',
  ...settling,
  ...outputs,
  additional_tools: 'item',
  configuration_update: 'item',
  compaction_trigger: 'item',
  item_reference: 'item',
  file_search_call: 'reply',
  computer_call: 'reply',
  web_search_call: 'reply',
  function_call: 'reply',
  tool_search_call: 'reply',
  reasoning: 'reply',
  compaction: 'reply',
  image_generation_call: 'reply',
  code_interpreter_call: 'reply',
  local_shell_call: 'reply',
  shell_call: 'reply',
  apply_patch_call: 'reply',
  mcp_list_tools: 'reply',
  mcp_approval_request: 'reply',
  mcp_call: 'reply',
  custom_tool_call: 'reply',
  program: 'reply',
  program_output: 'reply',
} as const satisfies Table<ResponseInputItem>
