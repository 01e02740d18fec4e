/** Checks, also at compile time, that each content kind of the providers' packages is in the table of its grammar. */

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

/** A type error here names kinds that a new version of a package added. Add a row for each to `kinds.ts`. */
const missing: {
  readonly anthropic: Exclude<ContentBlock['type'] | BetaContentBlock['type'], keyof typeof ANTHROPIC>[]
  readonly aiSdk: Exclude<ContentPart<ToolSet>['type'], keyof typeof AI_SDK>[]
  readonly chat: Exclude<keyof ChatCompletionMessage, 'role' | keyof typeof CHAT>[]
  readonly calls: Exclude<ChatCompletionMessageToolCall['type'], 'function' | 'custom'>[]
  readonly google: Exclude<keyof Part, keyof typeof GOOGLE>[]
  readonly steps: Exclude<(Interactions.Step | Interactions.Content)['type'], keyof typeof INTERACTIONS>[]
  readonly responses: Exclude<ResponseOutputItem['type'], keyof typeof RESPONSES>[]
} = { anthropic: [] satisfies never[], aiSdk: [], chat: [], calls: [], google: [], steps: [], responses: [] }

type AssertEmpty<Kinds extends never> = Kinds

export type NoMissingKinds = AssertEmpty<
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

it.each(TABLES)(
  '%s: a block with only a type is not returnable, and has a placeholder if shared',
  (grammar, table) => {
    for (const [type, { side, needs }] of Object.entries(table)) {
      expect(replyPlaceholder({ type })).toBe(isShared(type) ? `[${type}]` : null)
      if (side !== 'user' && needs !== undefined)
        expect(
          isReturnable({ grammar, table, ...(grammar === 'google' && { namedBy: 'field' }) }, { type }),
        ).toBe(false)
    }
  },
)

it('google: a part with a field of the wrong type is not returnable', () => {
  const form = { grammar: 'google', table: GOOGLE, namedBy: 'field' } as const
  const part = { codeExecutionResult: { outcome: 'OUTCOME_OK' } }
  expect(isReturnable(form, part)).toBe(true)
  for (const field of Object.keys(GOOGLE.codeExecutionResult.more)) {
    expect(isReturnable(form, { ...part, [field]: null }), field).toBe(false)
  }
})
