/** Fields that the contract has no place for are taken out of events, and named in the warnings. */

import { shapeOfKind, TEXT, walkShapes } from '../nested-shapes.ts'
import { without } from '../json.ts'
import type { EventKind } from '../kinds.ts'
import type { JsonObject } from '../shapes.ts'
import type { Shape } from '../nested-shapes.ts'
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
