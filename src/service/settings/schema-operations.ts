/** The schemas of settings, for pages that change them, and the known models. */

import type { JsonObject } from '../../event/shapes.ts'
import { listOf, objectOf, operationsIn, type Operation, pageOfSchema, string } from '../http/operation.ts'
import { NAME_PAGING, pageByName } from '../http/page-bytes.ts'
import { boolean, optional, text } from '../http/parameters.ts'
import type { Profiles } from './profiles.ts'
import { AGENT, CONVERSATION } from './settings-schema.ts'
import type { Settings } from './settings.ts'

const operation = operationsIn('Settings')

const SCHEMA = objectOf({
  model_name: string,
  sections: listOf(
    objectOf({
      key: string,
      label: string,
      fields: listOf({
        type: 'object',
        required: ['key', 'label', 'section', 'section_label', 'value_type'],
      }),
    }),
  ),
})

const schemaOperation = (path: `/${string}`, summary: string, body: JsonObject): Operation =>
  operation(`get ${path}`, {
    operationId: `get${path.replaceAll(/[/-]/g, '_')}`,
    summary,
    returns: SCHEMA,
    description: 'By section',
    handle: () => body,
  })

interface SchemaParts {
  readonly profiles: Profiles
  readonly settings: Settings
}

export const schemaOperations = (parts: SchemaParts): Operation[] => [
  ...(['/api', '/api/v1'] as const).flatMap((base) => [
    schemaOperation(`${base}/settings/agent-schema`, 'Get Agent Settings Schema', AGENT),
    schemaOperation(`${base}/settings/conversation-schema`, 'Get Conversation Settings Schema', CONVERSATION),
  ]),
  listOperation(parts, '/api/llm/models', 'List Models', (models) => ({ models })),
  listOperation(parts, '/api/llm/providers', 'List Providers', (models) => ({
    providers: providersOf(models),
  })),
  searchOperation(parts, 'models', (models) =>
    models.map((name) => ({ provider: providerOf(name), name, verified: false })),
  ),
  searchOperation(parts, 'providers', (models) =>
    providersOf(models).map((name) => ({ name, verified: false })),
  ),
]

const providerOf = (model: string): string | null =>
  model.includes('/') ? model.slice(0, model.indexOf('/')) : null

const providersOf = (models: readonly string[]): string[] =>
  [...new Set(models.flatMap((model) => providerOf(model) ?? []))].toSorted()

async function modelsOf({ profiles, settings }: SchemaParts): Promise<string[]> {
  const { agent_settings } = await settings.read()
  const named = [...(await profiles.all()).map(({ llm: one }) => one), agent_settings['llm']]
  return [
    ...new Set(
      named.flatMap((one) => {
        const model = typeof one === 'object' && one !== null ? (one as JsonObject)['model'] : undefined
        return typeof model === 'string' ? [model] : []
      }),
    ),
  ].toSorted()
}

const SEALED = { 409: 'Profiles or settings were encrypted with another secret' }

const listOperation = (
  parts: SchemaParts,
  path: `/${string}`,
  summary: string,
  present: (models: readonly string[]) => object,
): Operation =>
  operation(`get ${path}`, {
    operationId: `list${path.replaceAll('/', '_')}_get`,
    tag: 'Models',
    summary,
    query: { provider: optional(text()) },
    returns: { type: 'object' },
    description: 'The models of profiles and settings',
    otherwise: SEALED,
    async handle({ query: { provider } }) {
      const models = await modelsOf(parts)
      return present(models.filter((model) => provider === null || providerOf(model) === provider))
    },
  })

const searchOperation = (
  parts: SchemaParts,
  what: 'models' | 'providers',
  present: (models: readonly string[]) => readonly { readonly name: string }[],
): Operation =>
  operation(`get /api/v1/config/${what}/search`, {
    operationId: `search_${what}_api_v1_config_${what}_search_get`,
    tag: 'Models',
    summary: what === 'models' ? 'Search Models' : 'Search Providers',
    query: {
      query: optional(text()),
      provider__eq: optional(text()),
      verified__eq: optional(boolean()),
      ...NAME_PAGING,
    },
    returns: pageOfSchema({ type: 'object' }),
    description: 'By name; `page_id` is the last name of the previous page',
    otherwise: SEALED,
    async handle({ query: { query: part, provider__eq: provider, verified__eq: verified, ...paging } }) {
      const models = (await modelsOf(parts)).filter(
        (model) => provider === null || providerOf(model) === provider,
      )
      const all = present(models).filter(
        ({ name }) => verified !== true && (part === null || name.includes(part)),
      )
      return pageByName(all, paging)
    },
  })
