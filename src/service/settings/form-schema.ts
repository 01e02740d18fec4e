/** What settings there are, as the fields of a form, of the schemas that they are checked by. */

import * as z from 'zod'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { isSecret } from '../conversations/secrets.ts'
import { llm } from './settings-schema.ts'

const labelOf = (name: string): string => {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function section(key: string, label: string, shape: z.ZodType): JsonObject {
  const { properties = {} } = z.toJSONSchema(shape, { io: 'input' })
  const fields = Object.entries(properties).map(([name, field]): JsonObject => ({
    key: `${key}.${name}`,
    label: labelOf(name),
    section: key,
    section_label: label,
    value_type: typeOf(field as JsonObject),
    secret: isSecret(name, 'x') && typeOf(field as JsonObject) === 'string',
    default: null,
    description: null,
    choices: [],
    depends_on: [],
    prominence: name === 'model' || name === 'api_key' ? 'critical' : 'minor',
  }))
  return { key, label, fields }
}

/** The first type that is not null. */
function typeOf(field: JsonObject): JsonValue {
  const { type, anyOf } = field
  if (typeof type === 'string') return type
  const inner = (Array.isArray(anyOf) ? anyOf : []).map((one) => typeOf(one as JsonObject))
  return inner.find((one) => one !== 'null') ?? 'string'
}

export const AGENT: JsonObject = { model_name: 'AgentSettings', sections: [section('llm', 'Model', llm)] }

export const CONVERSATION: JsonObject = {
  model_name: 'ConversationSettings',
  sections: [
    section(
      'conversation',
      'Conversation',
      z.strictObject({
        max_iterations: z.int(),
        confirmation_mode: z.boolean(),
        security_analyzer: z.string().nullable(),
      }),
    ),
  ],
}
