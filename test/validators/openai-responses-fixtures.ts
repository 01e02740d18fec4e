/** Parts of Responses requests for the tests of the validator. */

export const user = {
  type: 'message',
  role: 'user',
  content: [{ type: 'input_text', text: 'List the files.' }],
}
export const message = (text: string) => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
})
export const done = message('Done.')
export const call = (call_id: string, args = '{"path":"."}', name = 'ls') => ({
  type: 'function_call',
  call_id,
  name,
  arguments: args,
})
export const output = (call_id: string, output: unknown = 'a.txt') => ({
  type: 'function_call_output',
  call_id,
  output,
})
export const requestOf = (...input: unknown[]) => ({ instructions: 'Be brief.', input })
