/** Fields that the contract has no place for are taken out of events, and named in the warnings. */

import { type Shape, shapeOfKind, walkShapes, TEXT } from '../nested-shapes.ts'
import { without } from '../json.ts'
import { EVENT_KINDS, type EventKind } from '../kinds.ts'
import type { JsonObject } from '../shapes.ts'
import { upcaster, type Upcaster } from './upcaster.ts'

const drop = (object: JsonObject, key: string): JsonObject =>
  Object.hasOwn(object, key) ? without(object, key) : object

const dropTruncation = (value: JsonObject, shape: Shape): JsonObject =>
  shape === TEXT ? drop(value, 'enable_truncation') : value

/** Steps that only take out. */
export const SURPLUS: readonly Upcaster[] = [
  upcaster(
    'surplus.enable_truncation',
    ['ActionEvent', 'MessageEvent', 'ObservationEvent', 'SystemPromptEvent'],
    'enable_truncation, a setting that text content once had, is taken out.',
    (raw) => walkShapes(raw, shapeOfKind(raw['kind'] as EventKind), dropTruncation),
  ),
  upcaster(
    'surplus.classification',
    ['AgentErrorEvent', 'ConversationErrorEvent'],
    'classification, which the newest producers work out from code and detail, is taken out.',
    (raw) => drop(raw, 'classification'),
  ),
]

const dropIfNull = (value: JsonObject, key: string): JsonObject =>
  value[key] === null ? without(value, key) : value

function dropNulls(value: JsonObject, { defaults }: Shape): JsonObject {
  let result = value
  for (const key of Object.keys(defaults)) result = dropIfNull(result, key)
  return result
}

/** Steps for nulls where the contract knows none. */
export const NULLS: readonly Upcaster[] = [
  upcaster(
    'nulls.defaults',
    EVENT_KINDS,
    'null in a field that has another default, as in thinking_blocks, is taken out: the default stands again.',
    (raw) => walkShapes(raw, shapeOfKind(raw['kind'] as EventKind), dropNulls),
  ),
  upcaster('nulls.identity', EVENT_KINDS, 'A null id or timestamp is taken out: the event has none.', (raw) =>
    dropIfNull(dropIfNull(raw, 'id'), 'timestamp'),
  ),
  upcaster(
    'nulls.state_key',
    ['ConversationStateUpdateEvent'],
    'A null key of a state update is taken out: the update has none.',
    (raw) => dropIfNull(raw, 'key'),
  ),
]
