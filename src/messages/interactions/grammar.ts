/** The Interactions grammar. Its fake provider requires a signed thought before a turn's first call. */

import { defineGrammar } from '../grammar.ts'
import { googleError } from '../google/grammar.ts'
import { argumentObject, isTextBlank, reasonOf, seenText, spoken } from '../fake.ts'
import type { ReplyAbout, SeenBlock, SpokenProvider, Wire } from '../fake.ts'
import { NO_SIGNATURE } from '../reply-parts.ts'
import { LIMITS } from './blocks.ts'
import { collectInteractions, DELTAS, ENDINGS, fromInteractions } from './read.ts'
import { validateInteractions } from './rules.ts'
import { toInteractions } from './write.ts'

const interactionOf = (steps: readonly Wire[], about: ReplyAbout): Wire => ({
  id: `int_${about.requestNumber}`,
  object: 'interaction',
  model: 'scripted',
  status:
    reasonOf(ENDINGS, about) ??
    (steps.some(({ type }) => type === 'function_call') ? 'requires_action' : 'completed'),
  usage: { total_input_tokens: 10, total_output_tokens: 5, total_tokens: 15 },
})

function eventsOf(step: Wire, index: number): readonly Wire[] {
  const { start, deltas } = spoken(step, DELTAS)
  const { content: _, ...fields } = start
  return [
    { event_type: 'step.start', index, step: fields },
    ...deltas.map((delta) => ({ event_type: 'step.delta', index, delta })),
    { event_type: 'step.stop', index },
  ]
}

function stepBlocks(step: Wire): SeenBlock[] {
  const { type, content, signature, ...rest } = step
  const isUser = type === 'user_input' || type === 'function_result'
  const role = isUser ? 'user' : 'assistant'
  if (content !== undefined)
    return (content as readonly Wire[])
      .filter((part) => !isTextBlank(part))
      .map((part) => ({ role, body: seenText(part), token: null }))
  const isSigned = signature !== undefined && signature !== NO_SIGNATURE
  if (type === 'thought' && !isSigned) return []
  return [{ role, body: seenText({ type, ...rest }), token: isSigned ? String(signature) : null }]
}

const PROVIDER: SpokenProvider = {
  route: (path, body) => (path.endsWith('/interactions') ? body['stream'] === true : null),
  contents(part, idPrefix) {
    if (typeof part === 'string') return [{ type: 'model_output', content: [{ type: 'text', text: part }] }]
    if ('think' in part)
      return [{ type: 'thought', signature: '', summary: [{ type: 'text', text: part.think }] }]
    if ('search' in part)
      return [
        { type: 'google_search_call', id: `search_${idPrefix}`, arguments: { queries: [part.search] } },
        { type: 'google_search_result', call_id: `search_${idPrefix}`, result: [] },
      ]
    const { call: name, args, id = `call_${idPrefix}` } = part
    return [{ type: 'function_call', id, name, arguments: argumentObject(args) }]
  },
  signs: ({ type }) => type === 'thought',
  whole: (steps, about) => ({ ...interactionOf(steps, about), steps }),
  stream: (steps, about) => [
    {
      event_type: 'interaction.created',
      interaction: { id: `int_${about.requestNumber}`, status: 'in_progress' },
    },
    ...steps.flatMap(eventsOf),
    { event_type: 'interaction.completed', interaction: interactionOf(steps, about) },
  ],
  namedBy: 'event_type',
  ends: 1,
  error: googleError,
}

export const INTERACTIONS = defineGrammar({
  name: 'interactions',
  title: 'Gemini Interactions',
  law: 'M19',
  limits: LIMITS,
  write: toInteractions,
  prompt: 'system_instruction',
  list: 'input',
  reply: fromInteractions,
  stream: collectInteractions,
  rules: validateInteractions,
  seen: {
    items: stepBlocks,
    textItem: (text) => ({ type: 'user_input', content: [{ type: 'text', text }] }),
  },
  provider: PROVIDER,
})
