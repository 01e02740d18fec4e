/** Recognizes the providers' errors for requests that are too long, and no others. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasCode } from '../../src/event/errors.ts'
import { tooLong } from '../../src/steps/step-of.ts'
import { costOf } from '../growth.ts'

const failure = (message: string, fields: object = {}): Error => Object.assign(new Error(message), fields)

describe('tooLong', () => {
  it.each<readonly [string, object]>([
    [
      'Anthropic',
      failure('400 {"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}', { status: 400 }),
    ],
    ['Anthropic, in bytes', failure('413', { status: 413, error: { error: { type: 'request_too_large' } } })],
    [
      'Anthropic, with max_tokens',
      failure('400 input length and `max_tokens` exceed context limit: 7 + 3 > 8', { status: 400 }),
    ],
    ['OpenAI', failure('400', { status: 400, code: 'context_length_exceeded' })],
    [
      'OpenAI, in a stream',
      { type: 'response.failed', response: { error: { code: 'context_length_exceeded' } } },
    ],
    ['OpenAI, at the start of a stream', { type: 'error', code: 'context_length_exceeded' }],
    ['GitHub Models', failure('413', { status: 413, code: 'tokens_limit_reached' })],
    ['vLLM', failure("400 This model's maximum context length is 8 tokens.", { status: 400 })],
    ['llama.cpp', failure('400', { status: 400, error: { type: 'exceed_context_size_error' } })],
    ['xAI', failure("400 This model's maximum prompt length is 8", { status: 400 })],
    ...[
      ['Moonshot', 'Invalid request: Your request exceeded model token limit: 8 (requested: 9)'],
      ['MiniMax', 'invalid params, context window exceeds limit (2013)'],
      ['GitHub Copilot', 'prompt token count of 9 exceeds the limit of 8'],
      [
        'LM Studio',
        'The number of tokens to keep from the initial prompt is greater than the context length.',
      ],
      ['llama.cpp, as a message', 'the request exceeds the available context size, try increasing it'],
      ['Alibaba', 'InternalError.Algo.InvalidParameter: Range of input length should be [1, 8]'],
      ['Z.ai', 'Prompt exceeds max length'],
      [
        'LM Studio, with a full window',
        'Trying to keep the first 9 tokens when context the overflows. However, the model is loaded with context length of only 8 tokens.',
      ],
      [
        'vLLM, since 2026',
        "You passed 9 input tokens. However, the model's context length is only 8 tokens.",
      ],
      ['Poolside', 'Input length 9 exceeds the maximum allowed input length of 8 tokens.'],
      ['Cohere', 'too many tokens: total number of tokens in the prompt cannot exceed 8 - received 9.'],
      ['DS4', 'prompt has 9 tokens, but the configured context size is 8 tokens'],
      ['a gateway', 'context_length_exceeded'],
      ['OpenAI, since 2026', "Your input exceeds this model's context window."],
      ['Ollama', 'prompt too long; exceeded max context length by 4 tokens'],
      ['SGLang', "The input (9 tokens) is longer than the model's context length (8 tokens)."],
      ['vLLM, for images', 'The decoder prompt (length 9) is longer than the maximum model length of 8.'],
      [
        'vLLM, before 0.9',
        'The prompt (total length 9) is too long to fit into the model (context length 8).',
      ],
      [
        'Vertex AI',
        'Unable to submit request because the input token count is 9 but model only supports up to 8.',
      ],
      ['Nova', 'Input Tokens Exceeded: Number of input tokens exceeds maximum length.'],
      ['Claude on Bedrock', 'too many total text bytes: 9 > 8'],
      ['Text Generation Inference', '`inputs` tokens + `max_new_tokens` must be <= 8. Given: 7 and 3'],
    ].map(([provider, messages]): [string, Error] => [
      provider as string,
      failure(`400 ${messages}`, { status: 400 }),
    ]),
    ['Bedrock', failure('Input is too long for requested model.', { statusCode: 400 })],
    [
      'Google',
      failure(
        '{"error":{"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}',
      ),
    ],
    [
      'the AI SDK, after retries',
      failure('Failed', { lastError: failure('prompt is too long', { statusCode: 400 }) }),
    ],
    ['the AI SDK, in a stream', { type: 'error', error: failure('prompt is too long', { statusCode: 400 }) }],
  ])('recognizes the error of %s', (_, input) => {
    const error = tooLong(input)
    expect(error).toMatchObject({ code: 'context_too_long', cause: input })
    expect(tooLong(error)).toBe(error)
  })

  it.each<readonly [string, unknown]>([
    ['a rate limit', failure('Too many tokens: the maximum context length of all requests', { status: 429 })],
    ['an overload', failure('overloaded', { status: 529 })],
    ['an invalid key', failure('invalid x-api-key', { status: 401 })],
    ['another invalid request', failure('messages: roles must alternate', { status: 400 })],
    ['a long tool name', failure('tools.0.name is longer than the maximum length of 64', { status: 400 })],
    ['a long tool description', failure('tools.0.description is too long', { status: 400 })],
    [
      'a long field',
      failure('tools.0.name exceeds the maximum allowed input length of 64 characters', { status: 400 }),
    ],
    ['text of the model', { type: 'content_block_delta', delta: { text: 'prompt is too long' } }],
    [
      'a chunk without an error',
      { error: null, choices: [{ delta: { content: 'maximum context length' } }] },
    ],
    ['a string', 'prompt is too long'],
  ])('returns null for %s', (_, input) => {
    expect(tooLong(input)).toBe(null)
  })

  it('checks a message of 320,000 characters in less than a second', () => {
    const error = failure('prompt ('.repeat(40_000), { status: 400 })
    expect(costOf(() => tooLong(error))).toBeLessThan(1000)
  })

  it('accepts any value, including a cycle', () => {
    const cycle: Record<string, unknown> = {}
    Object.assign(cycle, { error: cycle, message: cycle, cause: cycle })
    expect(tooLong(cycle)).toBe(null)
    fc.assert(
      fc.property(fc.anything(), (input) => {
        const error = tooLong(input)
        expect(error === null || hasCode(error, 'context_too_long')).toBe(true)
      }),
    )
  })
})
