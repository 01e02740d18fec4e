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

export type BuiltInSituation = (typeof OTHERS)[number] | `called ${WireGrammar}`

export const BUILT_IN_SITUATIONS: readonly BuiltInSituation[] = [
  ...OTHERS,
  'called anthropic',
  'called openai-chat',
  'called openai-responses',
  'called google',
  'called interactions',
  'called bedrock',
  'called ai-sdk',
]

export function builtInSituationsOf({ begins, facts }: Story, { grammar }: Plan): BuiltInSituation[] {
  const executed = begins.flatMap(({ executes }) => executes)
  const text = JSON.stringify(facts)
  const kinds = new Set(facts.map((fact) => ('kind' in fact ? fact.kind : '')))
  const occurred: readonly (readonly [BuiltInSituation, boolean])[] = [
    [`called ${grammar}`, begins.some(({ context: input, streamed }) => input !== null && streamed !== null)],
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
