/** Reads the file of --config and the environment, and collects every mistake before the service starts. */

import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { fromFileSystem } from '../failure.ts'
import type { Io } from '../print/io.ts'
import { type Camel, camelCased } from './camel.ts'
import { checkSettings, type Settings } from './config-schema.ts'

/** What a service is made with, beside its database and address. */
export interface Config {
  /** Null where the file has none. */
  readonly sandboxSpecs: NonNullable<Settings['sandbox_specs']> | null
  /** Absolute; null where the file names none. */
  readonly sandboxDirectory: string | null
  readonly maxSandboxes: number | null
  /** Whether clients may use the files of sandboxes, and run commands in them. */
  readonly givesFiles: boolean
  /** Where secrets are masked. */
  readonly redact: NonNullable<Settings['redact']>
  /** In the library's names; what was left out is left out, and the library's default holds. */
  readonly options: Camel<Pick<Settings, 'max_profiles' | 'max_body_bytes' | 'cache_bytes'>> & {
    readonly quota?: Camel<NonNullable<Settings['quota']>>
    readonly live?: Camel<NonNullable<Settings['live']>>
    readonly editor?: Camel<Omit<Editor, 'token_env'>> & { readonly token: string }
    readonly webhooks: readonly (Camel<Omit<Webhook, 'secret' | 'secret_env'>> & {
      readonly secret: string
    })[]
  }
}

type Editor = NonNullable<Settings['editor']>
type Webhook = NonNullable<Settings['webhooks']>[number]

/**
 * Reads it; without a file, nothing is configured. Folders are looked for from where the file is.
 * @throws FileError for a file that cannot be read.
 */
export async function readConfig(
  file: string | null,
  { env }: Pick<Io, 'env'>,
): Promise<{ readonly config: Config } | { readonly problems: readonly string[] }> {
  if (file === null) return { config: configOf({}, '.', () => '') }
  const bytes = await readFile(file).catch((error: unknown) => Promise.reject(fromFileSystem(error, file)))
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    // What a parser says quotes the text, which may hold a secret: its place is enough.
    const place = / \(line \d+ column \d+\)/.exec(error instanceof Error ? error.message : '')?.[0] ?? ''
    return { problems: [`${file}: is no JSON${place}`] }
  }
  const checked = checkSettings(value)
  if ('issues' in checked) {
    const told = checked.issues.map(({ place, problem }) => (place === '' ? problem : `${place}: ${problem}`))
    return { problems: told.map((problem) => `${file}: ${problem}`) }
  }
  const problems: string[] = []
  const config = configOf(checked.settings, dirname(file), (place, name, least) => {
    const found = env[name] ?? ''
    const lack = found === '' ? 'is not set' : `must hold at least ${least} characters`
    if (found.length < least) problems.push(`${file}: ${place}: the environment variable ${name} ${lack}`)
    return found
  })
  return problems.length > 0 ? { problems } : { config }
}

/** What a variable holds that is named at a place of the file, and should hold so many characters. */
type ReadVariable = (place: string, name: string, least: number) => string

function configOf(settings: Settings, folder: string, read: ReadVariable): Config {
  const {
    sandbox_specs,
    sandbox_directory,
    max_sandboxes,
    sandbox_workspaces = false,
    webhooks = [],
    live,
    quota,
    editor,
    redact,
    ...rest
  } = settings
  return {
    sandboxSpecs: sandbox_specs ?? null,
    sandboxDirectory: sandbox_directory === undefined ? null : resolve(folder, sandbox_directory),
    maxSandboxes: max_sandboxes ?? null,
    givesFiles: sandbox_workspaces,
    redact: redact ?? [],
    options: {
      ...camelCased(rest),
      ...(quota !== undefined && { quota: camelCased(quota) }),
      ...(live !== undefined && { live: camelCased(live) }),
      ...(editor !== undefined && { editor: editorOf(editor, read) }),
      webhooks: webhooks.map(({ secret = '', secret_env: name, ...webhook }, at) => ({
        ...camelCased(webhook),
        secret: name === undefined ? secret : read(`webhooks[${at}].secret_env`, name, 16),
      })),
    },
  }
}

const editorOf = ({ token_env: name, ...editor }: Editor, read: ReadVariable) => ({
  ...camelCased(editor),
  token: read('editor.token_env', name, 1),
})
