/** Reads the file of --config and the environment, and collects every mistake before the service starts. */

import * as z from 'zod'
import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { isLegalId } from '../../event/index.ts'
import { EVENT_KINDS } from '../../index.ts'
import { rejectRead } from '../failure.ts'
import type { Io } from '../print/io.ts'

/** What the file configures; a missing option has the library's default. */
export type Config = ReturnType<typeof configOf>

/**
 * Reads the file; without a file, nothing is configured. Relative folders start at the file.
 * @throws FileError for an unreadable file.
 */
export async function readConfig(
  file: string | undefined,
  { env }: Pick<Io, 'env'>,
): Promise<{ readonly config: Config } | { readonly problems: readonly string[] }> {
  if (file === undefined) return { config: configOf({}, '.', () => '') }
  const bytes = await readFile(file).catch(rejectRead(file))
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    // A parser's message quotes the text, which may contain a secret: the position is enough.
    const position = / \(line \d+ column \d+\)/.exec(error instanceof Error ? error.message : '')?.[0] ?? ''
    return { problems: [`${file}: is not JSON${position}`] }
  }
  const checked = checkSettings(value)
  if ('issues' in checked) return { problems: checked.issues.map((issue) => `${file}: ${issue}`) }
  const problems: string[] = []
  const config = configOf(checked.settings, dirname(file), (path, name, least) => {
    const result = env[name] ?? ''
    const lack = result === '' ? 'is not set' : `must hold at least ${least} characters`
    if (result.length < least) problems.push(`${file}: ${path}: the environment variable ${name} ${lack}`)
    return result
  })
  return problems.length > 0 ? { problems } : { config }
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

/** Converts the object's keys from snake_case to camelCase. Keys of nested objects are unchanged. */
const camelCased = <T extends object>(value: T): Camel<T> =>
  Object.fromEntries(Object.entries(value).map(([name, inner]) => [camelName(name), inner])) as Camel<T>

/** Maximum number of milliseconds of a timer; no other option needs more. */
const MAX_COUNT = 2 ** 31 - 1

/** Maximum bytes of a body, which is read as one text. */
const MAX_BODY = 2 ** 28

/** Variables that the service sets in every sandbox. */
const RESERVED = ['PORT', 'SESSION_API_KEY', 'OH_SESSION_API_KEYS_0', 'SANDBOX_ID', 'COLLOQUY_SANDBOX_OWNER']

const optional = z.exactOptional

const whole = (max = Number.MAX_SAFE_INTEGER) => {
  const must = `must be a whole number ${max === Number.MAX_SAFE_INTEGER ? 'above 0' : `from 1 to ${max}`}`
  return z.number(must).refine((value) => Number.isSafeInteger(value) && value >= 1 && value <= max, must)
}

const count = whole(MAX_COUNT)

const string = z.string().refine((value) => !value.includes('\u0000'), 'must not hold NUL')

const nonEmptyText = string.min(1, 'must not be empty')

const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable, not its value')

const ownVariable = nonEmptyText
  .refine((name) => !name.includes('='), 'must not hold =')
  .refine((name) => !RESERVED.includes(name), 'is set by the service')

const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/, 'is no name of a header')

const headerValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, 'must be on one line, in Latin letters')

const sandboxSpec = z.strictObject({
  id: nonEmptyText,
  command: z.array(string, 'must be a list of texts, or null').min(1, 'must name a program').nullable(),
  initial_env: optional(z.record(ownVariable, string)),
  working_dir: optional(
    nonEmptyText.refine(isWithin, 'must be a folder within the sandbox, as in workspace'),
  ),
  health: optional(string.regex(/^\/(?!\/)/, 'must be a path, as in /health')),
})

const webhook = z
  .strictObject({
    url: z.string().refine(isReceiver, 'must be a URL of http or https, without a user in it'),
    secret: optional(z.string().min(16, 'must have at least 16 characters')),
    secret_env: optional(variable),
    id: optional(z.string().refine(isLegalId, 'must be 1 to 200 printable characters')),
    from: optional(z.enum(['start', 'now'])),
    kinds: optional(z.array(z.enum(EVENT_KINDS)).min(1, 'must name at least one kind')),
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

/** The schema of the file. */
export const settings = z.strictObject({
  sandbox_specs: z
    .array(sandboxSpec)
    .min(1, 'must hold at least one; leave it out for a working directory alone')
    .refine((all) => areUnique(all.map(({ id }) => id)), 'must not hold two with one id')
    .exactOptional(),
  sandbox_directory: optional(nonEmptyText),
  canvas_extensions: optional(nonEmptyText),
  sandbox_workspaces: optional(z.boolean('must be true or false')),
  max_sandboxes: optional(whole()),
  webhooks: z
    .array(webhook)
    .refine(
      (all) => areUnique(all.map(nameOf)),
      'must not hold two with one id; without an id, the url is it, without its query',
    )
    .exactOptional(),
  max_profiles: optional(whole()),
  quota: optional(
    z.strictObject({ per_day: whole(), exempt: optional(z.array(nonEmptyText, 'must be a list of texts')) }),
  ),
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

/** The content of `serve.json`. */
export type Settings = z.output<typeof settings>

/** Checks a value; an issue is the path of a field, and what is wrong with it. O(size). */
export function checkSettings(
  value: unknown,
): { readonly settings: Settings } | { readonly issues: readonly string[] } {
  const { success, data, error } = settings.safeParse(value, { reportInput: true })
  return success ? { settings: data } : { issues: error.issues.flatMap((issue) => issuesOf(issue)) }
}

function issuesOf(issue: z.core.$ZodIssue): string[] {
  const at = (problem: string, path = issue.path): string =>
    path.length === 0 ? problem : `${pathOf(path)}: ${problem}`
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => at('unknown field', [...issue.path, key]))
  if (issue.code === 'invalid_key') return issue.issues.map(({ message }) => at(message))
  if (issue.code === 'invalid_value') return [at(`must be one of ${issue.values.join(', ')}`)]
  if (issue.code !== 'invalid_type') return [at(issue.message)]
  if (issue.input === undefined) return [at('is missing')]
  const isOwn = !issue.message.startsWith('Invalid input')
  return [at(isOwn ? issue.message : `must be ${NOUNS[issue.expected] ?? issue.expected}`)]
}

const NOUNS: Readonly<Record<string, string>> = {
  object: 'an object',
  record: 'an object of texts',
  array: 'a list',
  string: 'a text',
}

const pathOf = (path: readonly PropertyKey[]): string =>
  path
    .map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))
    .join('')
    .replace(/^\./, '')

function isReceiver(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null
  return url !== null && ['http:', 'https:'].includes(url.protocol) && url.username + url.password === ''
}

/** The id of a webhook; a query is not part of it. */
function nameOf({ id, url }: { readonly id?: string; readonly url: string }): string {
  if (id !== undefined || !URL.canParse(url)) return id ?? url
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

function isWithin(path: string): boolean {
  const parts = path.split(/[/\\]/)
  const isNamed = parts.some((part) => part !== '' && part !== '.')
  return isNamed && !parts.includes('..') && !/^([/\\]|[a-z]:)/i.test(path)
}
