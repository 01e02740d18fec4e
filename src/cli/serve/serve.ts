/** Runs a service over a database until it is asked to end, and gives back all that it holds before it exits. */

import { resolve } from 'node:path'
import { isColloquyError } from '../../index.ts'
import { redactionRules } from '../../context/redaction/index.ts'
import { complain, failureText } from '../attempt.ts'
import { withStore } from '../db/open.ts'
import { notListening, UsageError } from '../failure.ts'
import { type Io, writeLines } from '../print/io.ts'
import type { ServeRequest } from '../args/request.ts'
import { counted, safe } from '../print/text.ts'
import { type AgentModule, loadAgent } from './agent.ts'
import { type Config, readConfig } from './config.ts'
import { checkWorkspace, sandboxFolder } from './folders.ts'
import { inspectorPage } from '../../inspector/index.ts'
import { readTemplate } from '../template.ts'
import { logOn } from './log.ts'

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
