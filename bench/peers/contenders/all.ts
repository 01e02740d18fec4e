/** All contenders, in the order of the tables. */

import type { Contender } from '../contender.ts'
import { COLLOQUY } from './colloquy.ts'
import { EMMETT } from './emmett.ts'
import { LANGGRAPH } from './langgraph.ts'
import { OPENAI_AGENTS } from './openai-agents.ts'
import { PI } from './pi.ts'
import { PLAIN } from './plain.ts'

export const CONTENDERS: readonly Contender[] = [
  ...COLLOQUY,
  ...EMMETT,
  ...LANGGRAPH,
  ...OPENAI_AGENTS,
  ...PI,
  ...PLAIN,
]
