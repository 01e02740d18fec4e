import * as z from 'zod'
import { integer } from '../event/shape-schema.ts'
import { MAX_PAGE_SIZE } from '../store/contract/query.ts'
import {
  agentSettings,
  bodyOf,
  closedBody,
  id,
  integer as wholeNumber,
  messageFields,
  optionalBody,
  sentMessage,
  tags,
  text,
  title,
} from './http/body-schema.ts'

const PROVIDERS = [
  'github',
  'gitlab',
  'bitbucket',
  'bitbucket_data_center',
  'forgejo',
  'azure_devops',
  'enterprise_sso',
] as const

const TRIGGERS = [
  'resolver',
  'gui',
  'suggested_task',
  'openhands_api',
  'slack',
  'microagent_management',
  'jira',
  'jira_dc',
  'linear',
  'bitbucket',
  'automation',
] as const

const repository = {
  selected_repository: text(1, 500).nullish(),
  selected_branch: text(1, 500).nullish(),
  git_provider: z.enum(PROVIDERS).nullish(),
}

const scalar = z.union([z.string(), z.number(), z.boolean()])

const serviceFields = {
  sandbox_id: id.nullish(),
  conversation_id: id.nullish(),
  parent_conversation_id: id.nullish(),
  initial_message: z.strictObject({ ...messageFields, run: z.boolean().default(true).optional() }).nullish(),
  title: title.nullish(),
  public: z.boolean().nullish(),
  tags: tags.nullish(),
  llm_model: text(1, 500).nullish(),
  trigger: z.enum(TRIGGERS).nullish(),
  pr_number: z.array(integer()).max(1_000).optional(),
  ...repository,
  observability_metadata: z.record(z.string(), z.union([scalar, z.array(scalar)])).nullish(),
  observability_tags: z.array(text(1, 256)).max(1_000).nullish(),
  observability_span_name: z
    .string()
    .regex(/^[A-Za-z0-9._:/-]{1,128}$/, 'Must be 1 to 128 letters, digits and . _ : / -')
    .nullish(),
}

const startRequest = z.looseObject({ ...serviceFields, ...agentSettings })
export type StartRequest = z.input<typeof startRequest>
export const startBody = optionalBody(bodyOf(startRequest))

export const isServiceField = (name: string): boolean => Object.hasOwn(serviceFields, name)

const update = z.strictObject({
  title: title.nullish(),
  public: z.boolean().nullish(),
  ...repository,
})
export type AppUpdate = z.input<typeof update>
export const updateBody = bodyOf(update)

export const deletionBody = closedBody({
  ids: z.array(id).min(1).max(MAX_PAGE_SIZE).optional(),
  owner: id.optional(),
  tags: tags.optional(),
  before: z.string().optional(),
  older_than_days: z.number().min(0).max(100_000).optional(),
  keep_last: wholeNumber.min(0).optional(),
  dry_run: z.boolean().default(false).optional(),
  limit: wholeNumber.min(1).max(10_000).default(MAX_PAGE_SIZE).optional(),
})

export const erasureBody = optionalBody(closedBody({ reason: text(1, 1_000).optional() }))

export const sendBody = closedBody({ ...messageFields, run: z.boolean().default(true).optional() })

export const pendingBody = closedBody(messageFields)

export const userBody = closedBody({
  email: z
    .string()
    .regex(/^[^\s@\p{Cc}\p{Cs}]{1,64}@[^\s@\p{Cc}\p{Cs}]{1,190}$/u, 'Must be an e-mail address.'),
  /** The identity provider's id of the user, which identifies the user in an organization. */
  subject: text(1, 255).nullish(),
  password: text(8, 256).nullish(),
  api_key_name: text(1, 255).nullish(),
})

export const commandBody = closedBody({
  command: text(1, 100_000),
  cwd: text(1, 4_096).nullish(),
  timeout: wholeNumber.min(1).max(600).default(300).optional(),
})

export const MAX_WORKSPACES = 1_000

const folder = { id: text(1, 4_096), name: text(1, 500), path: text(1, 4_096) }
export const workspacesBody = closedBody({
  workspaces: z
    .array(z.strictObject({ ...folder, parentPath: text(1, 4_096).nullish() }))
    .max(MAX_WORKSPACES),
})
export const parentsBody = closedBody({ parents: z.array(z.strictObject(folder)).max(MAX_WORKSPACES) })

export const socketMessage = closedBody({ ...sentMessage, run: z.boolean().default(true).optional() })

export const sessionMessage = bodyOf(z.looseObject({ ...messageFields, role: z.string() }))

/** The first frame of a socket whose upgrade request has no key. */
export const authFrame = closedBody({ type: z.literal('auth'), session_api_key: z.string() })

export const MAX_ORG_ID = 200

const time = z.union([z.string().meta({ format: 'date-time' }), z.null()])

/** A new key. Without `org_id`, the caller's organization applies; if `org_id` is null, no organization. */
export const newKeyBody = closedBody({
  name: text(1, 255),
  not_before: time.optional(),
  expires_at: time.optional(),
  org_id: z.union([text(1, MAX_ORG_ID), z.null()]).optional(),
})

const KEBAB = /^(?!-|.*--|.*-$)[a-z0-9-]+$/

export const EXTENSION_NAME = /^(?!-|.*--|.*-$)[a-z0-9-]{1,255}$/

const extensionPage = z.object({
  id: z.string().regex(KEBAB, 'Must be in kebab case.'),
  title: z.string(),
  path: z.string().regex(/^(?!.*[/-][/-]|.*[/-]$)\/[a-z0-9/-]+$/, 'Must be a route in kebab case.'),
})

const areUnique = (pages: readonly z.output<typeof extensionPage>[]): boolean =>
  (['id', 'path'] as const).every((key) => new Set(pages.map((page) => page[key])).size === pages.length)

/** `canvas-extension.json`. Fields that are not listed here are ignored. */
export const canvasManifest = bodyOf(
  z.object({
    schema_version: z.literal(1),
    name: z.string().regex(EXTENSION_NAME, 'Must be in kebab case.'),
    display_name: z.string(),
    version: z.string(),
    description: z.string().optional(),
    entrypoint: z
      .string()
      .regex(/^(?!\/)(?!(?:.*\/)?\.\.(?:\/|$))./, 'Must be a relative path without `..`.'),
    contributes: z
      .object({
        pages: z
          .array(extensionPage)
          .refine(areUnique, { error: 'Must have unique ids and paths.', params: { type: 'value_error' } })
          .optional(),
      })
      .optional(),
    icon: z.unknown().optional(),
  }),
)

export const installBody = closedBody({
  source: text(1, 4_096),
  ref: text(1, 255).nullish(),
  repo_path: text(1, 4_096).nullish(),
  force: z.boolean().default(false).optional(),
})

export const enabledBody = closedBody({ enabled: z.boolean() })

export const refreshBody = closedBody({ resolved_ref: z.null().optional(), enabled: z.boolean() })
