/** Settings and profiles under the paths of the control plane, for clients of the hosted service. */

import { isObject } from '../../event/json.ts'
import type { JsonObject, JsonValue } from '../../event/shapes.ts'
import { SUCCESS, SUCCESS_SCHEMA } from '../conversations/info.ts'
import { type Operation, operation } from '../http/operation.ts'
import { text } from '../http/parameters.ts'
import { SEALED, shownSettings } from './operations.ts'
import type { Settings } from './settings.ts'
import { storeBody } from './settings-schema.ts'

const PATH = '/api/v1/settings'

export const cloudSettingsOperations = (settings: Settings): Operation[] => [
  operation(
    {
      method: 'get',
      path: PATH,
      operationId: 'load_settings_api_v1_settings_get',
      tag: 'Settings',
      summary: 'Load Settings',
      replies: { 200: { description: 'Secrets masked', schema: { type: 'object' } }, ...SEALED },
    },
    async ({ request }) => {
      const shown = shownSettings(await settings.read(), request)
      const { agent_settings: agent, misc_settings: preferences, llm_api_key_is_set: set, ...rest } = shown
      const llm = objectAt(agent, 'llm')
      return {
        body: {
          ...(isObject(preferences) && preferences),
          ...rest,
          agent_settings: agent,
          llm_model: llm['model'] ?? null,
          llm_base_url: llm['base_url'] ?? null,
          llm_api_key_set: set,
          search_api_key_set: false,
          provider_tokens_set: {},
        },
      }
    },
  ),
  operation(
    {
      method: 'post',
      path: PATH,
      operationId: 'store_settings_api_v1_settings_post',
      tag: 'Settings',
      summary: 'Store Settings',
      body: storeBody,
      replies: {
        200: { description: 'Stored', schema: SUCCESS_SCHEMA },
        400: { description: 'A masked secret in a list is none that is kept' },
        ...SEALED,
      },
    },
    async ({ body: { agent_settings_diff, conversation_settings_diff, ...preferences } }) => {
      await settings.change({
        agent_settings_diff,
        conversation_settings_diff,
        misc_settings_diff: preferences as JsonObject,
      })
      return { body: SUCCESS }
    },
  ),
]

const objectAt = (value: JsonValue | undefined, name: string): JsonObject => {
  const inner = isObject(value) ? value[name] : undefined
  return isObject(inner) ? inner : {}
}

/** Where the control plane has profiles: of the caller, and of an organization, which are the same ones here. */
const PLACES = ['/api/v1/settings/profiles', '/api/organizations/{org_id}/profiles']

/** The operations on profiles, under the control plane's paths as well. */
export const cloudProfileOperations = (own: readonly Operation[]): Operation[] =>
  PLACES.flatMap((place) =>
    own
      .filter(({ path }) => path.startsWith('/api/profiles') && !path.endsWith('/validate'))
      .map((one) => {
        const path = one.path.replace('/api/profiles', place)
        return {
          ...one,
          path,
          operationId: `${one.method}${path.replaceAll(/\W+/g, '_')}`,
          ...(place.includes('{') && { params: { org_id: text(), ...one.params } }),
        }
      }),
  )
