/** The AI SDK as a grammar: its rules are the schemas of the package itself, and no provider speaks it. */

import { defineGrammar } from '../grammar.ts'
import { messageSight } from '../provider.ts'
import { LIMITS } from './blocks.ts'
import { collectAiSdk, fromAiSdk } from './read.ts'
import { toAiSdk } from './write.ts'

/** The AI SDK. */
export const AI_SDK = defineGrammar({
  name: 'ai-sdk',
  title: 'AI SDK',
  law: 'M4',
  limits: LIMITS,
  write: toAiSdk,
  reply: fromAiSdk,
  stream: collectAiSdk,
  sight: messageSight,
})
