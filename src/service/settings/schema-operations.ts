import { isObject, textAt } from '../../event/json.ts'
import type { JsonObject } from '../../event/shapes.ts'
import { listOf, objectOf, operationsIn, type Operation, pageOfSchema } from '../http/operation.ts'
import { CURSOR_PAGING, pageByName } from '../http/paging.ts'
import { boolean, optional, text } from '../http/parameters.ts'
import type { SettingsParts } from './agent-profiles.ts'
import { AGENT, CONVERSATION } from './settings-schema.ts'

const operation = operationsIn('Settings')

const SCHEMA = objectOf({
  model_name: 'string',
  sections: listOf(
    objectOf({
      key: 'string',
      label: 'string',
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

type SchemaParts = Pick<SettingsParts, 'profiles' | 'settings'>

export const schemaOperations = (parts: SchemaParts): Operation[] => [
  ...(['/api', '/api/v1'] as const).flatMap((base) => [
    schemaOperation(`${base}/settings/agent-schema`, 'Get Agent Settings Schema', AGENT),
    schemaOperation(`${base}/settings/conversation-schema`, 'Get Conversation Settings Schema', CONVERSATION),
  ]),
  ...(['models', 'providers'] as const).flatMap((what) => [
    operation(`get /api/llm/${what}`, {
      operationId: `list_api_llm_${what}_get`,
      summary: what === 'models' ? 'List Models' : 'List Providers',
      tag: 'Models',
      query: { provider: optional(text()) },
      returns: 'object',
      description: 'The models of profiles and settings',
      otherwise: SEALED,
      async handle({ query: { provider } }) {
        return { [what]: (await entriesOf(parts, what, provider)).map(({ name }) => name) }
      },
    }),
    operation(`get /api/v1/config/${what}/search`, {
      name: `search_${what}`,
      tag: 'Models',
      query: {
        query: optional(text()),
        provider__eq: optional(text()),
        verified__eq: optional(boolean()),
        ...CURSOR_PAGING,
      },
      returns: pageOfSchema({ type: 'object' }),
      description: 'By name; `page_id` is the last name of the previous page',
      otherwise: SEALED,
      async handle({ query: { query: part, provider__eq: provider, verified__eq: verified, ...paging } }) {
        const all = verified === true ? [] : await entriesOf(parts, what, provider)
        return pageByName(
          all.filter(({ name }) => part === null || name.includes(part)),
          paging,
        )
      },
    }),
  ]),
]

const providerOf = (model: string): string | null =>
  model.includes('/') ? model.slice(0, model.indexOf('/')) : null

const providersOf = (models: readonly string[]): string[] =>
  [...new Set(models.flatMap((model) => providerOf(model) ?? []))].toSorted()

async function modelsOf({ profiles, settings }: SchemaParts): Promise<string[]> {
  const { agent_settings } = await settings.read()
  const named = [...(await profiles.all()).values(), agent_settings['llm']]
  return [...new Set(named.flatMap((one) => (isObject(one) ? (textAt(one, 'model') ?? []) : [])))].toSorted()
}

const SEALED = { 409: 'Profiles or settings were encrypted with another secret' }

async function entriesOf(
  parts: SchemaParts,
  what: 'models' | 'providers',
  provider: string | null,
): Promise<{ readonly name: string }[]> {
  const all = await modelsOf(parts)
  const models = all.filter((model) => provider === null || providerOf(model) === provider)
  return what === 'models'
    ? models.map((name) => ({ provider: providerOf(name), name, verified: false }))
    : providersOf(models).map((name) => ({ name, verified: false }))
}
