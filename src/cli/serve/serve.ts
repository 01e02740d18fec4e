/** Runs a service over a database until it is asked to end, and gives back all that it holds before it exits. */

import { stat } from 'node:fs/promises'
import { join, parse, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { redactionRules } from '../../context/redaction/index.ts'
import type { RunOptions, Step } from '../../conversation/index.ts'
import { isColloquyError } from '../../index.ts'
import { inspectorPage } from '../../inspector/index.ts'
import type { ServeRequest } from '../args/request.ts'
import { complain, failureText } from '../attempt.ts'
import { withStore } from '../db/store.ts'
import { FileError, fromFileSystem, notListening, UsageError } from '../failure.ts'
import { readTemplate } from '../inspect.ts'
import { type Io, writeLines } from '../print/io.ts'
import { counted, plain, safe } from '../print/text.ts'
import { type Config, readConfig } from './config-schema.ts'

const KEYS = 'COLLOQUY_SESSION_API_KEYS'
const SECRET = 'COLLOQUY_SECRET'

/** Least characters of a secret: what is sealed with it is as safe as it is hard to guess. */
const LEAST = 16

/** Serves until it is asked to end. @throws UsageError, FileError, ColloquyError. */
export async function serveConversations(request: ServeRequest, io: Io, version: string): Promise<number> {
  const { db, host, port, workspace, cacheBytes, allowOrigins } = request
  const keys = keysOf(io)
  const secret = secretOf(io)
  const { directoryWorkspace, isLoopback, processSandboxes, scriptedAgent, serve } =
    await import('../../service/node/index.ts')
  if (keys.length === 0 && !isLoopback(host))
    throw new UsageError(`--host ${host} lets other machines in: set ${KEYS}, or leave --host out`)
  if (keys.length === 0 && allowOrigins.includes('*'))
    throw new UsageError(
      `--allow-origin * lets any page in that is opened here: set ${KEYS}, or name the origins`,
    )
  if (workspace !== null) await checkWorkspace(workspace)
  const read = await readConfig(request.config, io)
  if ('problems' in read) {
    for (const problem of read.problems) await complain(io, failureText(problem))
    return 1
  }
  const agent: AgentModule | null = request.agent === null ? null : await loadAgent(request.agent)
  const { sandboxSpecs, sandboxDirectory, maxSandboxes, givesFiles, options } = read.config
  const directory = sandboxDirectory ?? sandboxFolder(request)
  const redact = request.redact ? ['stored', 'public'] : read.config.redact
  const rules = redactionRules()
  const log = logOn(io)
  const inspector = request.inspect ? await inspectorText() : null
  return withStore(db, { write: true, listen: true }, async (store) => {
    const provider = processSandboxes({
      directory,
      givesFiles,
      ...(sandboxSpecs !== null && { specs: sandboxSpecs }),
    })
    const server = await serve({
      ...options,
      ...(cacheBytes !== null && { cacheBytes }),
      ...(redact.includes('stored') && { storedRedaction: rules }),
      ...(redact.includes('public') && { publicRedaction: rules }),
      store,
      host,
      port,
      keys,
      allowOrigins,
      version,
      ...(inspector !== null && { inspector }),
      agent: agent === null ? scriptedAgent() : () => agent.step,
      ...(agent !== null && { run: agent.run }),
      controlPlane: {
        provider,
        onStartFailed: log.notStarted,
        ...(maxSandboxes !== null && { maxSandboxes }),
      },
      ...(secret !== null && { secret }),
      ...(workspace !== null && { workspace: directoryWorkspace(workspace) }),
      log: log.write,
      onFailure: (error, _request, requestId) =>
        log.failed(error, requestId === '' ? {} : { request_id: requestId }),
      webhookDispatcher: {
        onFailure: (error, webhook, conversationId) =>
          webhook === '' ? log.failed(error, {}) : log.notTaken(error, webhook, conversationId),
      },
    }).catch((error: unknown) => {
      // The database has causes of its own.
      if (isColloquyError(error) || !(error instanceof Error)) throw error
      const listening = error.cause instanceof Error && 'syscall' in error.cause
      throw listening ? notListening(error) : error
    })
    const stopped = new Promise<void>((stop) => io.onStop?.(stop))
    try {
      await writeLines(io.stdout, [
        `Colloquy serves ${db.label} at ${server.url}`,
        ...told({
          url: server.url,
          inspect: request.inspect,
          keys: keys.length,
          secret: secret !== null,
          directory,
          givesFiles,
          workspace,
          agent: request.agent,
          options,
        }),
      ])
      await stopped
    } finally {
      await server.close()
    }
    await log.written()
    return 0
  })
}

/** The page, which holds no log: it asks the service for them. */
async function inspectorText(): Promise<string> {
  const source = { from: 'service', logs: [], first: 0 } as const
  return [...inspectorPage(await readTemplate(), [], source)].join('')
}

/** What the user who starts it should know. */
function told(facts: {
  readonly url: string
  readonly inspect: boolean
  readonly keys: number
  readonly secret: boolean
  readonly directory: string
  readonly givesFiles: boolean
  readonly workspace: string | null
  readonly agent: string | null
  readonly options: Config['options']
}): string[] {
  const { keys, workspace, agent, options } = facts
  const webhooks = options.webhooks.length
  return [
    `  what it can do: ${facts.url}/openapi.json`,
    ...(facts.inspect ? [`  what happens in it: ${facts.url}/inspect`] : []),
    keys === 0
      ? `  no key is asked for: only this machine is let in (${KEYS} sets keys)`
      : `  ${keys === 1 ? 'a key is' : `one of ${keys} keys is`} asked for in X-Session-API-Key`,
    agent === null ? '  its agent repeats what users say (--agent names another)' : `  its agent is ${agent}`,
    `  sandboxes are processes of this machine, in ${facts.directory}`,
    ...(facts.givesFiles ? ['  clients may use the files of sandboxes, and run commands in them'] : []),
    ...(workspace === null ? [] : [`  directories may be made in ${resolve(workspace)}`]),
    ...(webhooks === 0
      ? []
      : [`  ${counted(webhooks, 'webhook')} ${webhooks === 1 ? 'is' : 'are'} sent what happens`]),
    facts.secret
      ? `  API keys of models are kept sealed with ${SECRET}`
      : `  API keys of models are not kept (${SECRET} seals them)`,
  ].map(safe)
}

/** @throws UsageError for a variable that is set and names no key: a service must not be open by mistake. */
function keysOf({ env }: Io): string[] {
  const text = env[KEYS]
  if (text === undefined) return []
  const keys = text
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '')
  if (keys.length === 0) throw new UsageError(`${KEYS} is set and holds no key: unset it, or set keys`)
  return keys
}

/** @throws UsageError for one that is too short to be one. */
function secretOf({ env }: Io): string | null {
  const secret = env[SECRET]
  if (secret === undefined || secret.length >= LEAST) return secret ?? null
  throw new UsageError(`${SECRET} must have at least ${LEAST} characters: unset it, or set a longer one`)
}

/** What a module exports. */
export interface AgentModule {
  readonly step: Step
  /** How conversations are run: a condenser, a policy, hooks. Empty where it exports none. */
  readonly run: Omit<RunOptions, 'signal'>
}

/**
 * Loads a file: a step, under the name `step` or as the default, and perhaps `run`.
 * @throws FileError for one that cannot be read, throws, or exports no step.
 */
export async function loadAgent(file: string): Promise<AgentModule> {
  const found = await stat(file).catch((error: unknown) => Promise.reject(fromFileSystem(error, file)))
  if (found.isDirectory()) throw new FileError('unreadable', 'is a directory, not a module', file)
  let exported: Readonly<Record<string, unknown>>
  try {
    exported = (await import(pathToFileURL(resolve(file)).href)) as Readonly<Record<string, unknown>>
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new FileError('unreadable', `cannot be loaded: ${why.split('\n', 1)[0] ?? ''}`, file)
  }
  const { step = exported['default'], run = {} } = exported
  if (typeof step !== 'function')
    throw new FileError('unreadable', 'exports no step: export const step = …, a function', file)
  if (typeof run !== 'object' || run === null)
    throw new FileError('unreadable', 'exports a run that is no object of options', file)
  return { step: step as Step, run }
}

/**
 * Where sandboxes get their folders: beside the database file; for a database that is no file, in the workspace, or
 * here.
 * @returns an absolute path; nothing need be there yet.
 */
export function sandboxFolder({ db, workspace }: Pick<ServeRequest, 'db' | 'workspace'>): string {
  if (db.kind === 'postgres') return resolve(workspace ?? '', 'colloquy-sandboxes')
  const { dir, name } = parse(resolve(db.target))
  return join(dir, `${name}-sandboxes`)
}

/** @throws FileError for what is no folder. */
export async function checkWorkspace(folder: string): Promise<void> {
  const what = `--workspace ${folder}`
  const found = await stat(folder).catch((error: unknown) => Promise.reject(fromFileSystem(error, what)))
  if (!found.isDirectory()) throw new FileError('unreadable', `${what}: is no directory`)
}

/** A start that came to nothing, and why. */
interface FailedStart {
  readonly id: string
  readonly sandbox_id: string | null
  readonly detail: string | null
}

/** The log of a service. When its reader is gone, its lines are left out. */
export interface ServiceLog {
  readonly write: (line: object) => void
  /** What has gone wrong in the service itself. */
  readonly failed: (error: unknown, fields: object) => void
  /** A webhook did not take what it was sent; it is sent again. */
  readonly notTaken: (error: unknown, webhook: string, conversationId: string | null) => void
  /** A conversation could not be started. */
  readonly notStarted: (task: FailedStart) => void
  /** Resolves when all that was said is written. */
  readonly written: () => Promise<void>
}

export function logOn({ stderr }: Pick<Io, 'stderr'>): ServiceLog {
  let last: Promise<void> = Promise.resolve()
  const write = (line: object): void => {
    last = last.then(() => stderr.write(`${JSON.stringify(line)}\n`)).catch(() => undefined)
  }
  const say = (level: 'error' | 'warn', message: string, fields: object): void =>
    write({ time: new Date().toISOString(), level, message, ...fields })
  return {
    write,
    failed(error, fields) {
      const stack = error instanceof Error ? plain(error.stack ?? '') : ''
      say('error', failureText(error), { ...fields, stack })
    },
    notTaken(error, webhook, conversationId) {
      say('warn', 'webhook not taken', {
        webhook,
        conversation_id: conversationId,
        reason: failureText(error),
      })
    },
    notStarted({ id, sandbox_id, detail }) {
      say('warn', 'conversation not started', { start_task_id: id, sandbox_id, reason: plain(detail ?? '') })
    },
    written: () => last,
  }
}
