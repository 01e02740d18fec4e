/** Removes a former setting, and nulls where the interface has another default. */

import { type Shape, shapeOfKind, walkShapes, TEXT } from '../nested-shapes.ts'
import { without } from '../json.ts'
import { EVENT_KINDS, type EventKind } from '../kinds.ts'
import type { JsonObject } from '../shapes.ts'
import { upcaster, type Upcaster } from './upcaster.ts'

const dropTruncation = (value: JsonObject, shape: Shape): JsonObject =>
  shape === TEXT && Object.hasOwn(value, 'enable_truncation') ? without(value, 'enable_truncation') : value

export const SURPLUS: readonly Upcaster[] = [
  upcaster(
    'surplus.enable_truncation',
    ['ActionEvent', 'MessageEvent', 'ObservationEvent', 'SystemPromptEvent'],
    'enable_truncation, a former setting of text content, is removed.',
    (raw) => walkShapes(raw, shapeOfKind(raw['kind'] as EventKind), dropTruncation),
  ),
]

const dropIfNull = (value: JsonObject, key: string): JsonObject =>
  value[key] === null ? without(value, key) : value

function dropNulls(value: JsonObject, { defaults }: Shape): JsonObject {
  let result = value
  for (const key of Object.keys(defaults)) result = dropIfNull(result, key)
  return result
}

export const NULLS: readonly Upcaster[] = [
  upcaster(
    'nulls.defaults',
    EVENT_KINDS,
    'null in a field with another default, such as thinking_blocks, is removed: the default applies.',
    (raw) => walkShapes(raw, shapeOfKind(raw['kind'] as EventKind), dropNulls),
  ),
  upcaster('nulls.identity', EVENT_KINDS, 'A null id or timestamp is removed.', (raw) =>
    dropIfNull(dropIfNull(raw, 'id'), 'timestamp'),
  ),
  upcaster(
    'nulls.state_key',
    ['ConversationStateUpdateEvent'],
    'A null key of a state update is removed.',
    (raw) => dropIfNull(raw, 'key'),
  ),
]
