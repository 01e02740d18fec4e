/** X6: a secret in any part reduces every part of the reply to its kind. */

import { redact } from '../../src/context/redaction/redact.ts'
import { redactionRules } from '../../src/context/redaction/rules.ts'
import { replyOf } from '../../src/event/reply.ts'
import type { Event } from '../../src/event/types.ts'
import { fromAnthropic } from '../../src/messages/anthropic/read.ts'
import { toAnthropic } from '../../src/messages/anthropic/write.ts'
import { toMessages } from '../../src/messages/neutral.ts'
import { fromOpenAIResponses } from '../../src/messages/openai-responses/read.ts'
import { toOpenAIResponses } from '../../src/messages/openai-responses/write.ts'
import { replay } from '../../src/state/reduce.ts'
import { validateAnthropic } from '../../src/messages/anthropic/rules.ts'
import { validateOpenAiResponses } from '../../src/messages/openai-responses/rules.ts'
import { ANTHROPIC_UNITS } from '../replies/anthropic-parts.ts'
import { RESPONSES_UNITS } from '../replies/responses-parts.ts'
import { hold, same } from '../../src/testing/failure.ts'
import { checkRedacted } from './redaction.ts'

const SECRET = 'swordfish'

const text = (text: string) => ({ type: 'text', text: text, citations: null })

/** The secret is in nearby text or in the part itself. */
function replies(): readonly { readonly events: readonly Event[]; readonly kinds: readonly string[] }[] {
  const anthropic = ANTHROPIC_UNITS.flatMap((unit) => {
    const parts = unit(1)
    const kinds = parts.map(({ type }) => type)
    const inside = JSON.parse(JSON.stringify(parts).replaceAll(/oak|So far|echo/g, SECRET)) as object[]
    return [
      { events: fromAnthropic({ content: [...parts, text(`It is ${SECRET}.`)] }).events, kinds },
      { events: fromAnthropic({ content: [...inside, text('It is so.')] }).events, kinds },
    ]
  })
  const responses = RESPONSES_UNITS.map((unit) => {
    const parts = unit(1)
    const content = [{ type: 'output_text', text: `It is ${SECRET}.`, annotations: [] }]
    const output = [...parts, { type: 'message', id: 'msg_1', role: 'assistant', content }]
    return { events: fromOpenAIResponses({ output }).events, kinds: parts.map(({ type }) => type) }
  })
  return [...anthropic, ...responses]
}

/** X5, X6, M14. Runs once, because it depends on no log. */
export function checkRedactedParts(): void {
  const rules = redactionRules({ patterns: [new RegExp(SECRET)] })
  for (const { events, kinds } of replies()) {
    for (const [index, event] of events.entries()) {
      const input = { ...event, id: `e${index}` }
      checkRedacted(input, rules)
      const redacted = redact(input, rules)
      if (redacted === input) continue
      const parts = replyOf(redacted)?.parts ?? []
      const remaining = parts.flatMap((part) => ('other' in (part as object) ? [part] : []))
      same(
        'X6',
        'the parts of a masked reply',
        remaining,
        kinds.map((type) => ({ other: { type } })),
      )
      const messages = toMessages(replay([redacted]))
      const [anthropic, responses] = [toAnthropic(messages), toOpenAIResponses(messages)]
      same('X6', "violations of Anthropic's rules", validateAnthropic(anthropic), [])
      same('X6', "violations of OpenAI's rules", validateOpenAiResponses(responses), [])
      for (const kind of kinds)
        for (const request of [anthropic, responses])
          hold('M14', JSON.stringify(request).includes(`[${kind}]`), `${kind} is not named`)
    }
  }
}
