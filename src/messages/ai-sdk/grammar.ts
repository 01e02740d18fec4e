/**
 * The AI SDK's grammar. It has no fake provider, and no rules, because the `ai` package checks messages
 * itself.
 */

import { defineGrammar } from '../grammar.ts'
import { LIMITS } from './blocks.ts'
import { collectAiSdk, fromAiSdk } from './read.ts'
import { toAiSdk } from './write.ts'

export const AI_SDK = defineGrammar({
  name: 'ai-sdk',
  title: 'AI SDK',
  law: 'M4',
  limits: LIMITS,
  write: toAiSdk,
  reply: fromAiSdk,
  stream: collectAiSdk,
})
