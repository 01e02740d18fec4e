/** Operations on single MCP servers of the settings (`agent_settings.mcp_config`), by their keys. */

import { isObject } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { type Operation, operation } from '../http/operation.ts'
import type { Parameter } from '../http/parameters.ts'
import { HttpProblem } from '../http/problem.ts'
import { SETTINGS, shownSettings } from './operations.ts'
import type { Settings, SettingsValues } from './settings.ts'
import { newServerBody, serverBody } from './settings-schema.ts'

const tag = 'Settings'

const settingsKey: Parameter<string> = {
  schema: { type: 'string', pattern: '^[^\\u0000-\\u001f]{1,100}$' },
  required: true,
  read(values) {
    const [key = ''] = values
    // oxlint-disable-next-line no-control-regex -- rejects control characters
    if (/^[^\u0000-\u001f]{1,100}$/.test(key) && key.isWellFormed()) return { value: key }
    return { wrong: { type: 'string_pattern_mismatch', msg: 'Must be 1 to 100 characters' } }
  },
}

const path = '/api/settings/mcp/{settings_key}'
const params = { settings_key: settingsKey }
const NOW = { description: 'The new settings, secrets masked', schema: SETTINGS }
const UNKNOWN = { 404: { description: 'Unknown server' } }

export const mcpOperations = (settings: Settings): Operation[] => {
  /** Null deletes the server. */
  const change = async (
    key: string,
    server: object | null,
    check: (isThere: boolean) => void,
    request: Request,
  ): Promise<JsonObject> => {
    const diff = { mcp_config: { [key]: server as JsonObject | null } }
    const now = await settings.change({ agent_settings_diff: diff }, (before) =>
      check(hasServer(before, key)),
    )
    return shownSettings(now, request)
  }
  return [
    operation(
      `post ${path}`,
      {
        name: 'create_mcp_server',
        tag,
        params,
        body: newServerBody,
        replies: { 201: NOW, 409: { description: 'The server already exists, or secrets cannot be stored' } },
      },
      async ({ path: { settings_key: key }, body, request }) => {
        const refuse = (isThere: boolean): void => {
          if (isThere)
            throw new HttpProblem(
              409,
              `MCP server ${JSON.stringify(key)} already exists. Change it with PATCH.`,
            )
        }
        return { status: 201, body: await change(key, body, refuse, request) }
      },
    ),
    operation(
      `patch ${path}`,
      {
        name: 'patch_mcp_server',
        tag,
        params,
        body: serverBody,
        replies: {
          200: NOW,
          400: { description: 'A masked secret in a list matches no stored one' },
          ...UNKNOWN,
          409: { description: 'Secrets cannot be stored' },
        },
      },
      async ({ path: { settings_key: key }, body, request }) => ({
        body: await change(key, body, requireServer(key), request),
      }),
    ),
    operation(
      `delete ${path}`,
      {
        name: 'delete_mcp_server',
        tag,
        params,
        replies: {
          200: NOW,
          ...UNKNOWN,
          409: { description: 'The settings were encrypted with another secret' },
        },
      },
      async ({ path: { settings_key: key }, request }) => ({
        body: await change(key, null, requireServer(key), request),
      }),
    ),
  ]
}

function hasServer({ agent_settings: { mcp_config: config } }: SettingsValues, key: string): boolean {
  return isObject(config) && Object.hasOwn(config, key)
}

const requireServer = (key: string) => (isThere: boolean) => {
  if (!isThere) throw new HttpProblem(404, `MCP server ${JSON.stringify(key)} was not found.`)
}
