/** Observations with the result in fields of their own become observations with content. */

import { editObject, without } from '../json.ts'
import { observationChecks } from '../published/payload-schema.ts'
import type { JsonObject, JsonValue } from '../shapes.ts'
import { upcaster, type Upcaster } from './upcaster.ts'

const OWN_MESSAGE: ReadonlySet<JsonValue | undefined> = new Set([
  'ApplyPatchObservation',
  'SleeptimeComputeObservation',
])

export const toContent = (...texts: readonly JsonValue[]): readonly JsonValue[] =>
  texts.filter((text) => typeof text === 'string' && text !== '').map((text) => ({ type: 'text', text }))

export const isTextOrNull = (value: JsonValue): boolean => value === null || typeof value === 'string'

export const RESULTS: readonly Upcaster[] = [
  upcaster(
    'results.text_content',
    ['ObservationEvent'],
    'content was one string; it becomes a list with that text.',
    (raw) =>
      editObject(raw, 'observation', (observation) =>
        typeof observation['content'] === 'string'
          ? { ...observation, content: toContent(observation['content']) }
          : observation,
      ),
  ),
  upcaster(
    'results.output_and_error',
    ['ObservationEvent'],
    'message, output and error become content and is_error. An error is true, or a text, which is then the last part.',
    (raw) => editObject(raw, 'observation', collect),
  ),
]

function collect(observation: JsonObject): JsonObject {
  const { kind, content = null, output = null, error = null } = observation
  // Users name the fields of their own tools, so only published kinds are converted.
  if (content !== null || !observationChecks.has(kind as string)) return observation
  const taken = ['output', 'error', ...(OWN_MESSAGE.has(kind) ? [] : ['message'])]
  if (!taken.some((key) => Object.hasOwn(observation, key))) return observation
  const message = taken.includes('message') ? (observation['message'] ?? null) : null
  const readable = isTextOrNull(output) && isTextOrNull(message)
  if (!readable || !(isTextOrNull(error) || typeof error === 'boolean')) return observation
  const failed = typeof error === 'string' ? error !== '' : error === true
  return {
    ...without(observation, ...taken),
    content: toContent(message, output, error),
    ...(Object.hasOwn(observation, 'error') && { is_error: failed || observation['is_error'] === true }),
  }
}
