/** Proves to the compiler that every kind of content which the providers' packages know has its place in the table of its grammar. */

import type { BetaContentBlock } from '@anthropic-ai/sdk/resources/beta/messages'
import type { ContentBlock } from '@anthropic-ai/sdk/resources/messages'
import type { Interactions, Part } from '@google/genai'
import type { ContentPart, ToolSet } from 'ai'
import type { ChatCompletionMessage, ChatCompletionMessageToolCall } from 'openai/resources/chat/completions'
import type { ResponseOutputItem } from 'openai/resources/responses/responses'
import { expect, it } from 'vitest'
import { KINDS as AI_SDK } from '../../src/messages/ai-sdk/blocks.ts'
import { KINDS as ANTHROPIC } from '../../src/messages/anthropic/blocks.ts'
import { KINDS as INTERACTIONS } from '../../src/messages/interactions/blocks.ts'
import { KINDS as GOOGLE } from '../../src/messages/google/blocks.ts'
import { isShared, replyPlaceholder } from '../../src/messages/reply-parts.ts'
import { isReturnable, type Kinds } from '../../src/messages/blocks.ts'
import type { KINDS as CHAT } from '../../src/messages/openai-chat/blocks.ts'
import { KINDS as RESPONSES } from '../../src/messages/openai-responses/blocks.ts'

/** An error here names the kinds that a new version of a package has brought: give each its row in `kinds.ts`. */
const missing: {
  readonly anthropic: Exclude<ContentBlock['type'] | BetaContentBlock['type'], keyof typeof ANTHROPIC>[]
  readonly aiSdk: Exclude<ContentPart<ToolSet>['type'], keyof typeof AI_SDK>[]
  readonly chat: Exclude<keyof ChatCompletionMessage, 'role' | keyof typeof CHAT>[]
  readonly calls: Exclude<ChatCompletionMessageToolCall['type'], 'function' | 'custom'>[]
  readonly google: Exclude<keyof Part, keyof typeof GOOGLE>[]
  readonly steps: Exclude<(Interactions.Step | Interactions.Content)['type'], keyof typeof INTERACTIONS>[]
  readonly responses: Exclude<ResponseOutputItem['type'], keyof typeof RESPONSES>[]
} = { anthropic: [] satisfies never[], aiSdk: [], chat: [], calls: [], google: [], steps: [], responses: [] }

type None<Kinds extends never> = Kinds

export type NoneIsMissing = None<
  | (typeof missing)['anthropic'][number]
  | (typeof missing)['aiSdk'][number]
  | (typeof missing)['chat'][number]
  | (typeof missing)['calls'][number]
  | (typeof missing)['google'][number]
  | (typeof missing)['steps'][number]
  | (typeof missing)['responses'][number]
>

const TABLES: readonly [string, Kinds][] = [
  ['anthropic', ANTHROPIC],
  ['ai-sdk', AI_SDK],
  ['google', GOOGLE],
  ['interactions', INTERACTIONS],
  ['openai-responses', RESPONSES],
]

it.each(TABLES)('%s: a kind of which nothing is there is named, and never sent', (grammar, table) => {
  for (const [type, { side, needs }] of Object.entries(table)) {
    expect(replyPlaceholder({ type })).toBe(isShared(type) ? `[${type}]` : null)
    if (side !== 'user' && needs !== undefined)
      expect(
        isReturnable({ grammar, table, ...(grammar === 'google' && { namedBy: 'field' }) }, { type }),
      ).toBe(false)
  }
})

it('google: a part is sent only when every field beside its kind is of its type', () => {
  const ownValue = { grammar: 'google', table: GOOGLE, namedBy: 'field' } as const
  const part = { codeExecutionResult: { outcome: 'OUTCOME_OK' } }
  expect(isReturnable(ownValue, part)).toBe(true)
  for (const field of Object.keys(GOOGLE.codeExecutionResult.more)) {
    expect(isReturnable(ownValue, { ...part, [field]: null }), field).toBe(false)
  }
})
