/**
 * The registry of grammars. Each grammar has a folder, and a line in this file. Writers do not import this
 * file, so that the bundle of one writer does not contain all grammars.
 */

import { invalid } from '../event/check-value.ts'
import { AI_SDK } from './ai-sdk/grammar.ts'
import { ANTHROPIC } from './anthropic/grammar.ts'
import { BEDROCK } from './bedrock/grammar.ts'
import { GOOGLE } from './google/grammar.ts'
import type { Grammar } from './grammar.ts'
import { INTERACTIONS } from './interactions/grammar.ts'
import { OPENAI_CHAT } from './openai-chat/grammar.ts'
import { OPENAI_RESPONSES } from './openai-responses/grammar.ts'

export const GRAMMARS: readonly Grammar[] = [
  OPENAI_CHAT,
  OPENAI_RESPONSES,
  ANTHROPIC,
  GOOGLE,
  INTERACTIONS,
  BEDROCK,
  AI_SDK,
]

export const DEFAULT_GRAMMAR = ANTHROPIC.name

const BY_NAME: ReadonlyMap<unknown, Grammar> = new Map(GRAMMARS.map((grammar) => [grammar.name, grammar]))

export const findGrammar = (name: unknown): Grammar | undefined => BY_NAME.get(name)

export function grammarNamed(name: string): Grammar {
  const grammar = BY_NAME.get(name)
  if (grammar !== undefined) return grammar
  throw invalid(`Unknown grammar ${JSON.stringify(name)}. Use one of ${[...BY_NAME.keys()].join(', ')}.`)
}
