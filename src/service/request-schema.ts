/** Bodies of requests, and frames of sockets. */

import * as z from 'zod'
import { MAX_ITERATIONS } from '../conversation/run/options.ts'
import { LEGAL_ID } from '../event/ids.ts'
import { toIssues } from '../event/issues.ts'
import { checker, integer as eventInteger, json, openPart, textContent } from '../event/shape-schema.ts'
import type { Content, JsonObject, JsonValue } from '../event/shapes.ts'
import { MAX_PAGE_SIZE } from '../store/contract/query.ts'
import { MAX_TAG_KEY, MAX_TAGS, TAG_KEY } from '../store/kit/record.ts'
import type { BodySpec } from './http/operation.ts'
import type { ValidationError } from './http/parameters.ts'

/** The specification of a body from a zod schema. Defaults are documented but not filled in. */
export function bodyOf<S extends z.ZodType>(schema: S): BodySpec<z.input<S>> {
  const check = checker(() => schema)
  const { $schema: _dialect, ...document } = z.toJSONSchema(schema, { io: 'input', override: tidy })
  return {
    schema: document as object as JsonObject,
    read(value) {
      const args = value as JsonValue
      const problems = check(args)
      // The check has verified the type.
      if (problems.length === 0) return { value: args as z.input<S> }
      return { errors: toIssues(problems, args, ['body']) as ValidationError[] }
    },
  }
}

export const closedBody = <Fields extends z.core.$ZodLooseShape>(fields: Fields) =>
  bodyOf(z.strictObject(fields))

export const optionalBody = <B>(body: BodySpec<B>): BodySpec<B | undefined> => ({ ...body, optional: true })

function tidy({ jsonSchema }: { readonly jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
}

const id = z
  .string()
  .regex(LEGAL_ID, 'Must be 1 to 200 characters of well-formed Unicode, without control characters.')

const asValueError = (error: string) => ({ error, params: { type: 'value_error' } })

const isStorable = (value: string): boolean => value.isWellFormed() && !value.includes('\u0000')

/** Text of `min` to `max` characters that every store accepts. */
export const text = (min: number, max: number) =>
  z.string().min(min).max(max).refine(isStorable, asValueError('Must be well-formed Unicode without NUL.'))

/** An integer. The error message is a code that `toIssues` reads. */
export const integer = z.int({ error: 'int' })

const title = text(1, 200).refine((value) => value.trim() !== '', asValueError('Must not be blank.'))

export const tags = z
  .record(
    z
      .string()
      .max(MAX_TAG_KEY)
      .regex(TAG_KEY, 'Must be letters, digits and underscores, with no underscore at the start.'),
    text(0, 256),
  )
  .refine((value) => Object.keys(value).length <= MAX_TAGS, asValueError(`Must be at most ${MAX_TAGS} tags.`))
  .meta({ maxProperties: MAX_TAGS })

const content = z.union([
  textContent(),
  z.strictObject({
    type: z.literal('image').default('image'),
    image_urls: z.array(z.string()).min(1),
    cache_prompt: z.boolean().default(false),
  }),
  openPart(),
]) as z.ZodType as z.ZodType<Content, Content>

const messageFields = { role: z.literal('user').default('user').optional(), content: z.array(content).min(1) }

const sentMessage = {
  ...messageFields,
  /** Idempotency key: a second message with the same key is not appended. */
  key: text(1, 200).optional(),
  sender: text(1, 200).optional(),
}

const confirmationPolicy = z.looseObject({
  kind: z.enum(['AlwaysConfirm', 'NeverConfirm', 'ConfirmRisky']),
  threshold: z.enum(['LOW', 'MEDIUM', 'HIGH']).optional(),
  confirm_unknown: z.boolean().optional(),
})

const securityAnalyzer = z.looseObject({
  kind: z.enum([
    'LLMSecurityAnalyzer',
    'PatternSecurityAnalyzer',
    'PolicyRailSecurityAnalyzer',
    'EnsembleSecurityAnalyzer',
    'GraySwanAnalyzer',
    'MaybeDontAnalyzer',
    'ToolShieldLLMSecurityAnalyzer',
  ]),
})

const secretSource = z.union([
  z.looseObject({ kind: z.literal('StaticSecret'), value: z.string() }),
  z.looseObject({ kind: z.literal('LookupSecret'), url: text(1, 4_096) }),
])

export const secrets = z.record(z.string().regex(/^[^\p{Cc}]{1,200}$/u), z.union([z.string(), secretSource]))

/** Fields of a start request that the agent receives. */
const agentSettings = { secrets: secrets.nullish(), security_analyzer: securityAnalyzer.nullish() }

const run = z.boolean().default(true).optional()

/** Fields of start requests to the agent server and to the control plane. */
const startFields = {
  conversation_id: id.nullish(),
  parent_conversation_id: id.nullish(),
  title: title.nullish(),
  tags: tags.nullish(),
}

const ownFields = {
  ...startFields,
  owner: id.nullish(),
  workspace: z.looseObject({ working_dir: text(1, 4_096) }).optional(),
  confirmation_policy: confirmationPolicy.nullish(),
  initial_message: z.strictObject({ ...sentMessage, run }).nullish(),
  max_iterations: integer.min(1).default(MAX_ITERATIONS).optional(),
}

const conversationRequest = z.looseObject({ ...ownFields, ...agentSettings })
export type StartBody = z.input<typeof conversationRequest>
export const startBody = optionalBody(bodyOf(conversationRequest))

export const agentFields = (body: object): JsonObject =>
  Object.fromEntries(Object.entries(body as JsonObject).filter(([name]) => !Object.hasOwn(ownFields, name)))

export const updateBody = closedBody({ title: title.nullish(), tags: tags.nullish() })

export const messageBody = closedBody({ ...sentMessage, run: z.boolean().default(false).optional() })

export const confirmationBody = closedBody({ accept: z.boolean(), reason: text(1, 4_096).optional() })

const action_ids = z.array(z.string()).min(1).max(1_000)

export const approveBody = closedBody({ action_ids })

export const rejectBody = closedBody({ action_ids, reason: text(1, 4_096).optional() })

const fork = z.strictObject({
  id: id.nullish(),
  title: title.nullish(),
  tags: tags.nullish(),
  owner: id.nullish(),
  from_event_id: z.string().nullish(),
  /** Whether usage is counted only from the fork on. */
  reset_metrics: z.boolean().default(true).optional(),
})
export type ForkBody = z.input<typeof fork>
export const forkBody = optionalBody(bodyOf(fork))

export const navigateBody = optionalBody(closedBody({ event_id: z.string().nullish() }))

export const policyBody = closedBody({ policy: confirmationPolicy.nullable() })

export const questionBody = closedBody({ question: text(1, 100_000) })

const map = z.record(z.string(), json())

export const analyzerBody = closedBody({ security_analyzer: securityAnalyzer.nullable() })

export const secretsBody = closedBody({ secrets })

export const llmBody = closedBody({ llm: map.and(z.looseObject({ model: text(1, 1_000) })) })
export const profileBody = closedBody({ profile_name: text(1, 64) })

export const completeBody = closedBody({
  content: z.union([text(0, 2 ** 22), z.array(content).min(1)]),
  outcome: z.enum(['done', 'failed']).default('done').optional(),
})

export const cancelBody = optionalBody(closedBody({ reason: text(1, 4_096).optional() }))

/** Body with the seconds until the token expires; default: a day. */
export const callTokenBody = optionalBody(
  closedBody({
    expires_in: integer
      .min(1)
      .max(30 * 86_400)
      .optional(),
  }),
)

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

const appFields = {
  ...startFields,
  sandbox_id: id.nullish(),
  initial_message: z.strictObject({ ...messageFields, run }).nullish(),
  public: z.boolean().nullish(),
  llm_model: text(1, 500).nullish(),
  trigger: z.enum(TRIGGERS).nullish(),
  pr_number: z.array(eventInteger()).max(1_000).optional(),
  ...repository,
  observability_metadata: z.record(z.string(), z.union([scalar, z.array(scalar)])).nullish(),
  observability_tags: z.array(text(1, 256)).max(1_000).nullish(),
  observability_span_name: z
    .string()
    .regex(/^[A-Za-z0-9._:/-]{1,128}$/, 'Must be 1 to 128 letters, digits and . _ : / -')
    .nullish(),
}

const appRequest = z.looseObject({ ...appFields, ...agentSettings })
export type StartRequest = z.input<typeof appRequest>
export const startAppBody = optionalBody(bodyOf(appRequest))

export const isAppField = (name: string): boolean => Object.hasOwn(appFields, name)

const appUpdate = z.strictObject({ title: title.nullish(), public: z.boolean().nullish(), ...repository })
export type AppUpdate = z.input<typeof appUpdate>
export const updateAppBody = bodyOf(appUpdate)

export const deletionBody = closedBody({
  ids: z.array(id).min(1).max(MAX_PAGE_SIZE).optional(),
  owner: id.optional(),
  tags: tags.optional(),
  before: z.string().optional(),
  older_than_days: z.number().min(0).max(100_000).optional(),
  keep_last: integer.min(0).optional(),
  dry_run: z.boolean().default(false).optional(),
  limit: integer.min(1).max(10_000).default(MAX_PAGE_SIZE).optional(),
})

export const erasureBody = optionalBody(closedBody({ reason: text(1, 1_000).optional() }))

export const sendBody = closedBody({ ...messageFields, run })

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
  timeout: integer.min(1).max(600).default(300).optional(),
})

export const MAX_WORKSPACES = 1_000

const folder = { id: text(1, 4_096), name: text(1, 500), path: text(1, 4_096) }
export const workspacesBody = closedBody({
  workspaces: z
    .array(z.strictObject({ ...folder, parentPath: text(1, 4_096).nullish() }))
    .max(MAX_WORKSPACES),
})
export const parentsBody = closedBody({ parents: z.array(z.strictObject(folder)).max(MAX_WORKSPACES) })

export const socketMessage = closedBody({ ...sentMessage, run })

export const sessionMessage = bodyOf(z.looseObject({ ...messageFields, role: z.string() }))

/** The first frame of a socket whose upgrade request has no key. */
export const authFrame = closedBody({ type: z.literal('auth'), session_api_key: z.string() })

export const MAX_ORG_ID = 200

const time = z.union([z.string().meta({ format: 'date-time' }), z.null()])

/** A new key. Without `org_id`, the key gets the organization of the request; null means no organization. */
export const newKeyBody = closedBody({
  name: text(1, 255),
  not_before: time.optional(),
  expires_at: time.optional(),
  org_id: z.union([text(1, MAX_ORG_ID), z.null()]).optional(),
})

export const EXTENSION_NAME = /^(?!-|.*--|.*-$)[a-z0-9-]{1,255}$/

const extensionPage = z.object({
  id: z.string().regex(/^(?!-|.*--|.*-$)[a-z0-9-]+$/, 'Must be in kebab case.'),
  title: z.string(),
  path: z.string().regex(/^(?!.*[/-][/-]|.*[/-]$)\/[a-z0-9/-]+$/, 'Must be a route in kebab case.'),
})

const areUnique = (pages: readonly z.output<typeof extensionPage>[]): boolean =>
  (['id', 'path'] as const).every((key) => new Set(pages.map((page) => page[key])).size === pages.length)

/** Checks the file `canvas-extension.json`. Fields that are not listed here are ignored. */
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
          .refine(areUnique, asValueError('Must have unique ids and paths.'))
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
