/** Runs a service over a database until it is stopped, and releases everything before it exits. */

import { readdir } from 'node:fs/promises'
import { join, parse, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { redactionRules } from '../../context/redaction/index.ts'
import type { RunOptions, Step } from '../../conversation/index.ts'
import { inspectorPage } from '../../inspector/index.ts'
import type { Options, RequestOf } from '../commands.ts'
import { type Address, addressOf } from '../db/address.ts'
import { withStore } from '../db/store.ts'
import { fail, FileError, rejectRead } from '../failure.ts'
import { readTemplate } from '../inspect.ts'
import { readPackage } from '../package.ts'
import { failureText, type Io } from '../print/io.ts'
import { counted, plain } from '../print/text.ts'
import type { Page } from '../show/page.ts'
import { type Config, readConfig } from './config-schema.ts'

const KEYS = 'COLLOQUY_SESSION_API_KEYS'
const SECRET = 'COLLOQUY_SECRET'

/** Minimum number of characters of a secret, because sealed values are only as safe as the secret. */
const MIN_SECRET_LENGTH = 16

/** The inspector's page has no logs: it requests them from the service. */
const LIVE_LOGS = { from: 'service', logs: [], first: 0 } as const

export async function serveConversations(
  { options: input }: RequestOf<'serve'>,
  page: Page,
): Promise<number> {
  const { db = addressOf('colloquy.db'), host = '127.0.0.1', port, workspace, memory } = input
  const origins = input['allow-origin'] ?? []
  const { io } = page
  const keys = sessionKeys(io)
  const secret = secretOf(io)
  const { directoryExtensions, directoryWorkspace, isLoopback, processSandboxes, serve } =
    await import('../../service/node/index.ts')
  if (keys.length === 0 && !isLoopback(host))
    fail(`--host ${host} gives other machines access without a key: set ${KEYS}, or omit --host`)
  if (keys.length === 0 && origins.includes('*'))
    fail(`--allow-origin * gives every web page access without a key: set ${KEYS}, or list the origins`)
  if (workspace !== undefined) await readdir(workspace).catch(rejectRead(`--workspace ${workspace}`))
  const config = await readConfig(input.config, io)
  const agent = input.agent === undefined ? null : await loadAgent(input.agent)
  const { sandboxSpecs: specs, maxSandboxes, givesFiles, canvasDirectory, options } = config
  if (canvasDirectory !== null)
    await readdir(canvasDirectory).catch(rejectRead(`canvas_extensions: ${canvasDirectory}`))
  const directory = config.sandboxDirectory ?? sandboxFolder(db, workspace)
  const redact = input.redact === true ? ['stored', 'public'] : config.redact
  const rules = redactionRules()
  const log = logOn(io)
  const template = input.inspect === true ? await readTemplate() : null
  const access = { write: true, listen: true, fullText: input['full-text'] === true }
  return withStore(db, access, async (store) => {
    const provider = processSandboxes({ directory, givesFiles, ...(specs !== null && { specs }) })
    const server = await serve({
      ...options,
      ...(memory !== undefined && { cacheBytes: memory * 2 ** 20 }),
      ...(redact.includes('stored') && { storedRedaction: rules }),
      ...(redact.includes('public') && { publicRedaction: rules }),
      store,
      host,
      ...(port !== undefined && { port }),
      keys,
      allowOrigins: origins,
      version: (await readPackage()).version,
      ...(template !== null && { inspector: [...inspectorPage(template, [], LIVE_LOGS)].join('') }),
      agent: () => agent?.step ?? repeatMessages,
      ...(agent !== null && { run: agent.run }),
      controlPlane: {
        provider,
        onStartFailed: ({ id: start_task_id, sandbox_id, detail }) =>
          log.warn('conversation not started', { start_task_id, sandbox_id, reason: plain(detail ?? '') }),
        ...(maxSandboxes !== null && { maxSandboxes }),
      },
      ...(secret !== null && { secret }),
      ...(canvasDirectory !== null && { canvasExtensions: directoryExtensions(canvasDirectory) }),
      ...(workspace !== undefined && { workspace: directoryWorkspace(workspace) }),
      log: log.write,
      onFailure: (error, _request, requestId) =>
        log.fail(error, requestId === '' ? {} : { request_id: requestId }),
      webhookDispatcher: {
        onFailure(error, webhook, conversationId) {
          if (webhook === '') log.fail(error, {})
          else {
            const fields = { webhook, conversation_id: conversationId, reason: failureText(error) }
            log.warn('webhook delivery failed', fields)
          }
        },
      },
    })
    const facts = { url: server.url, keys: keys.length, secret: secret !== null, directory }
    const lines = startLines(input, config, facts)
    await page.serve(server, [`Colloquy serves ${db.label} at ${server.url}`, ...lines])
    await log.written()
    return 0
  })
}

function* startLines(
  { agent, inspect, workspace }: Options<'serve'>,
  { givesFiles, options: { webhooks } }: Config,
  { url, keys, secret, directory }: { url: string; keys: number; secret: boolean; directory: string },
): IterableIterator<string> {
  yield `  its operations: ${url}/openapi.json`
  if (inspect === true) yield `  its conversations, live: ${url}/inspect`
  if (keys === 0) yield `  no key is needed: only this machine has access (set ${KEYS} to require keys)`
  else yield `  ${keys === 1 ? 'the key' : `one of ${keys} keys`} is needed in X-Session-API-Key`
  if (agent === undefined) yield '  its agent repeats user messages (--agent MODULE replaces it)'
  else yield `  its agent is ${agent}`
  yield `  sandboxes are processes of this machine, in ${directory}`
  if (givesFiles) yield '  clients may use the files of sandboxes, and run commands in them'
  if (workspace !== undefined) yield `  clients may create directories in ${resolve(workspace)}`
  if (webhooks.length === 1) yield '  1 webhook receives events'
  if (webhooks.length > 1) yield `  ${counted(webhooks.length, 'webhook')} receive events`
  if (secret) yield `  API keys of models are stored, encrypted with ${SECRET}`
  else yield `  API keys of models are not stored (set ${SECRET} to store them encrypted)`
}

/** Reads the session keys. @throws UsageError if the variable is set but has no key: anyone could use the service. */
function sessionKeys({ env }: Io): string[] {
  const text = env[KEYS]
  if (text === undefined) return []
  const keys = text
    .split(',')
    .map((key) => key.trim())
    .filter(Boolean)
  if (keys.length === 0) fail(`${KEYS} contains no key: add one, or unset the variable`)
  return keys
}

function secretOf({ env }: Io): string | null {
  const secret = env[SECRET]
  if (secret === undefined || secret.length >= MIN_SECRET_LENGTH) return secret ?? null
  return fail(`${SECRET} must have at least ${MIN_SECRET_LENGTH} characters: unset it, or set a longer one`)
}

async function loadAgent(file: string) {
  const refusal = (why: string) => new FileError('unreadable', why, file)
  const exported = (await import(pathToFileURL(resolve(file)).href).catch((error: unknown) => {
    const why = error instanceof Error ? error.message : String(error)
    throw refusal(`cannot be loaded: ${why.split('\n', 1)[0] ?? ''}`)
  })) as Readonly<Record<string, unknown>>
  const { step = exported['default'], run = {} } = exported
  if (typeof step !== 'function') throw refusal('exports no step function: add export const step = …')
  return { step: step as Step, run: run as Omit<RunOptions, 'signal'> }
}

/** The step without `--agent`: streams the user's last message back word by word, and has no tools. */
const repeatMessages: Step = function* ({ approved, state, publish }) {
  for (const { event } of approved) {
    const { tool_name, tool_call_id } = event
    const error = `Unknown tool ${JSON.stringify(tool_name)}. The default agent has no tools.`
    yield { kind: 'AgentErrorEvent', source: 'agent', tool_name, tool_call_id, error }
  }
  if (approved.length > 0) return
  const event = state.branch.lastUserMessage?.event
  const content = event?.kind === 'MessageEvent' ? (event.llm_message.content ?? []) : []
  const text = content.map((part) => ('text' in part ? part.text : '')).join('') || 'Nothing was said.'
  for (const word of text.match(/\S+\s*/g) ?? [])
    publish({ kind: 'StreamingDeltaEvent', source: 'agent', content: word })
  const llm_message = { role: 'assistant', content: [{ type: 'text', text }] } as const
  yield { kind: 'MessageEvent', source: 'agent', llm_message }
}

export function sandboxFolder(db: Address, workspace: string | undefined): string {
  if (db.kind === 'postgres') return resolve(workspace ?? '', 'colloquy-sandboxes')
  const { dir, name } = parse(resolve(db.target))
  return join(dir, `${name}-sandboxes`)
}

/** Returns a logger of JSON lines on standard error, in order. A slow or missing reader delays no request. */
function logOn({ stderr }: Pick<Io, 'stderr'>) {
  let last = Promise.resolve()
  const write = (line: object): void => void (last = stderr.write(`${JSON.stringify(line)}\n`))
  const add = (level: 'error' | 'warn', message: string, fields: object): void =>
    write({ time: new Date().toISOString(), level, message, ...fields })
  return {
    write,
    warn: (message: string, fields: object) => add('warn', message, fields),
    fail(error: unknown, fields: object) {
      const stack = error instanceof Error ? plain(error.stack ?? '') : ''
      add('error', failureText(error), { ...fields, stack })
    },
    written: () => last,
  }
}
