/** Reads the file of --config and the environment, and collects every mistake before the service starts. */

import * as z from 'zod'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { isLegalId } from '../../event/index.ts'
import { EVENT_KINDS } from '../../index.ts'
import { FileError, rejectRead } from '../failure.ts'
import { errorPosition, valueOf } from '../input/open.ts'
import type { Io } from '../print/io.ts'

/** Options of the service. An omitted option has Colloquy's default. */
export type Config = ReturnType<typeof configOf>

/** Reads a configuration file. Relative paths start at its folder. @throws FileError that lists all mistakes. */
export async function readConfig(file: string | undefined, { env }: Pick<Io, 'env'>): Promise<Config> {
  if (file === undefined) return configOf({}, '.', () => '')
  const refusal = (problems: readonly string[]) => new FileError('unreadable', problems.join('; '), file)
  // Some editors write a byte order mark.
  const text = (await readFile(file, 'utf8').catch(rejectRead(file))).replace(/^\ufeff/, '')
  const value = valueOf(text)
  if (value === undefined) throw refusal([`is not JSON${errorPosition(text)}`])
  const { success, data, error } = settings.safeParse(value)
  if (!success) throw refusal(error.issues.flatMap(describeIssue))
  const problems: string[] = []
  const config = configOf(data, dirname(file), (path, name, least) => {
    const result = env[name] ?? ''
    const lack = result === '' ? 'is not set' : `must have at least ${least} characters`
    if (result.length < least) problems.push(`${path}: the environment variable ${name} ${lack}`)
    return result
  })
  if (problems.length > 0) throw refusal(problems)
  return config
}

function configOf(
  settings: Settings,
  folder: string,
  readVariable: (path: string, name: string, least: number) => string,
) {
  const { sandbox_specs, sandbox_directory, canvas_extensions, max_sandboxes, ...others } = settings
  const { sandbox_workspaces, webhooks = [], live, quota, editor, redact = [], ...rest } = others
  const folderOf = (path: string | undefined) => (path === undefined ? null : resolve(folder, path))
  return {
    sandboxSpecs: sandbox_specs ?? null,
    sandboxDirectory: folderOf(sandbox_directory),
    canvasDirectory: folderOf(canvas_extensions),
    maxSandboxes: max_sandboxes ?? null,
    /** Whether clients may use the files of sandboxes, and run commands in them. */
    givesFiles: sandbox_workspaces === true,
    redact,
    options: {
      ...camelCased(rest),
      ...(quota !== undefined && { quota: camelCased(quota) }),
      ...(live !== undefined && { live: camelCased(live) }),
      ...(editor !== undefined && {
        editor: { ...camelCased(editor), token: readVariable('editor.token_env', editor.token_env, 1) },
      }),
      webhooks: webhooks.map(({ secret = '', secret_env: name, ...webhook }, index) => ({
        ...camelCased(webhook),
        secret: name === undefined ? secret : readVariable(`webhooks[${index}].secret_env`, name, 16),
      })),
    },
  }
}

type CamelName<Name> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelName<Rest>>}`
  : Name

type Camel<T> = { readonly [Name in keyof T as CamelName<Name>]: T[Name] }

const camelName = (name: string) => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())

/** Converts keys to camel case, except in nested objects. */
const camelCased = <T extends object>(value: T): Camel<T> =>
  Object.fromEntries(Object.entries(value).map(([name, inner]) => [camelName(name), inner])) as Camel<T>

/** Maximum of every count: the maximum milliseconds of a timer. Other counts need no larger maximum. */
const MAX_COUNT = 2 ** 31 - 1

/** Maximum bytes of a body, which is read as one text. */
const MAX_BODY = 2 ** 28

/** Variables that the service sets in every sandbox. */
const RESERVED = ['PORT', 'SESSION_API_KEY', 'OH_SESSION_API_KEYS_0', 'SANDBOX_ID', 'COLLOQUY_SANDBOX_OWNER']

const optional = z.exactOptional

const whole = (max = Number.MAX_SAFE_INTEGER) => z.int().min(1).max(max)

const count = whole(MAX_COUNT)

const string = z.string().refine((value) => !value.includes('\u0000'), 'must not contain NUL')

const nonEmptyText = string.min(1)

const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, not its value')

const environment = z
  .record(nonEmptyText, string)
  .refine(
    (all) => Object.keys(all).every((name) => !name.includes('=') && !RESERVED.includes(name)),
    `must not set ${RESERVED.join(', ')}, or a name that contains =`,
  )

const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is not a valid header name')

const headerValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be one line of Latin-1 characters')

const sandboxSpec = z.strictObject({
  id: nonEmptyText,
  command: z.array(string).min(1).nullable(),
  initial_env: optional(environment),
  working_dir: optional(
    nonEmptyText.refine(isWithin, 'must be a relative path within the sandbox, such as workspace'),
  ),
  health: optional(string.regex(/^\/(?!\/)/, 'must be a path, such as /health')),
})

const webhook = z
  .strictObject({
    url: z.string().refine(isReceiver, 'must be an http or https URL without a user name or password'),
    secret: optional(z.string().min(16)),
    secret_env: optional(variable),
    id: optional(z.string().refine(isLegalId, 'must be 1 to 200 printable characters')),
    from: optional(z.enum(['start', 'now'])),
    kinds: optional(z.array(z.enum(EVENT_KINDS)).min(1)),
    headers: optional(z.record(headerName, headerValue)),
    max_batch_events: optional(count),
    max_batch_bytes: optional(count),
    concurrency: optional(count),
    timeout: optional(count),
    retry_delay: optional(count),
    max_retry_delay: optional(count),
  })
  .refine(
    ({ secret, secret_env }) => (secret === undefined) !== (secret_env === undefined),
    'needs either secret_env, the name of an environment variable, or secret',
  )

const areUnique = (names: readonly string[]): boolean => new Set(names).size === names.length

export const settings = z.strictObject({
  sandbox_specs: z
    .array(sandboxSpec)
    .min(1)
    .refine((all) => areUnique(all.map(({ id }) => id)), 'must not contain two specs with the same id')
    .exactOptional(),
  sandbox_directory: optional(nonEmptyText),
  canvas_extensions: optional(nonEmptyText),
  sandbox_workspaces: optional(z.boolean()),
  max_sandboxes: optional(whole()),
  webhooks: z
    .array(webhook)
    .refine(
      (all) => areUnique(all.map(nameOf)),
      'must not contain two webhooks with the same id; the default id is the url without its query',
    )
    .exactOptional(),
  max_profiles: optional(whole()),
  quota: optional(z.strictObject({ per_day: whole(), exempt: optional(z.array(nonEmptyText)) })),
  editor: optional(z.strictObject({ port: whole(65_535), token_env: variable, base_path: optional(string) })),
  max_body_bytes: optional(whole(MAX_BODY)),
  cache_bytes: optional(whole()),
  redact: optional(z.array(z.enum(['stored', 'public']))),
  live: z
    .strictObject({
      max_per_conversation: optional(whole()),
      max_total: optional(whole()),
      buffer_chars: optional(whole()),
      write_timeout: optional(count),
      heartbeat_interval: optional(count),
    })
    .exactOptional(),
})

type Settings = z.output<typeof settings>

function describeIssue(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.length === 0 ? '' : `${z.core.toDotPath(issue.path)}: `
  return (issue.code === 'invalid_key' ? issue.issues : [issue]).map(({ message }) => path + message)
}

function isReceiver(text: string): boolean {
  const url = URL.parse(text)
  return url !== null && ['http:', 'https:'].includes(url.protocol) && url.username + url.password === ''
}

function nameOf({ id, url: text }: { readonly id?: string; readonly url: string }): string {
  const url = URL.parse(text)
  return id ?? (url === null ? text : url.origin + url.pathname)
}

function isWithin(path: string): boolean {
  const parts = path.split(/[/\\]/)
  const isNamed = parts.some((part) => part !== '' && part !== '.')
  return isNamed && !parts.includes('..') && !/^([/\\]|[a-z]:)/i.test(path)
}
