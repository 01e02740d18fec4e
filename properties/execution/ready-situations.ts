import type { WireGrammar } from '../wire/reply.ts'
import type { Plan } from './plan.ts'
import type { Story } from './story.ts'

const OTHERS = [
  'tool_threw',
  'repeated_after_a_death',
  'unknown_tool',
  'cut_off',
  'condensed',
  'requested',
  'too_long',
] as const

export type ReadySituation = (typeof OTHERS)[number] | `asked ${WireGrammar}`

export const READY_SITUATIONS: readonly ReadySituation[] = [
  ...OTHERS,
  'asked anthropic',
  'asked openai-chat',
  'asked openai-responses',
  'asked google',
  'asked interactions',
  'asked bedrock',
  'asked ai-sdk',
]

export function readySituationsOf({ begins, facts }: Story, { grammar }: Plan): ReadySituation[] {
  const executed = begins.flatMap(({ executes }) => executes)
  const text = JSON.stringify(facts)
  const kinds = new Set(facts.map((fact) => ('kind' in fact ? fact.kind : '')))
  const occurred: readonly (readonly [ReadySituation, boolean])[] = [
    [`asked ${grammar}`, begins.some(({ context: input, streamed }) => input !== null && streamed !== null)],
    ['repeated_after_a_death', new Set(executed).size < executed.length],
    ['tool_threw', text.includes('the tool is broken')],
    ['unknown_tool', text.includes('there is no tool')],
    ['condensed', text.includes('what was said before')],
    ['requested', kinds.has('CondensationRequest')],
    ['too_long', text.includes('"kind":"CondensationRequest","source":"environment"')],
    ['cut_off', text.includes('was cut off in the middle of it')],
  ]
  return occurred.flatMap(([situation, is]) => (is ? [situation] : []))
}
