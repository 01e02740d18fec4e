/** Parts of Anthropic requests for the tests of the validator. */

export const user = { role: 'user', content: 'List the files.' }
export const done = { role: 'assistant', content: 'Done.' }
export const text = (content: string) => ({ type: 'text', text: content })
export const thinking = { type: 'thinking', thinking: 'Hm.', signature: 'EqQB' }
export const redacted = { type: 'redacted_thinking', data: 'EmwK' }
export const call = (id: string, input: unknown = {}, name = 'ls') => ({ type: 'tool_use', id, name, input })
export const result = (id: string, content: unknown = 'a.txt') => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
})
export const failed = (id: string, content: unknown) => ({ ...result(id, content), is_error: true })
export const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
export const userWith = (...content: unknown[]) => ({ role: 'user', content })
export const base64 = (media_type: string, data: string) => ({
  type: 'image',
  source: { type: 'base64', media_type, data },
})
export const linked = (url: string) => ({ type: 'image', source: { type: 'url', url } })
export const png = base64('image/png', 'aW1n')
export const cache_control = { type: 'ephemeral' }
export const requestOf = (...messages: unknown[]) => ({ system: 'Be brief.', messages })
