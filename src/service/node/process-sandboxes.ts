import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { isAbsolute, join, normalize, resolve } from 'node:path'
import { checkOptionNames, invalid } from '../../event/check-value.ts'
import { ColloquyError } from '../../event/errors.ts'
import { attempt, isObject } from '../../event/json.ts'
import type { SandboxProvider, SandboxSpec, SandboxState } from '../control-plane/sandbox-provider.ts'
import { NO_STATE } from '../control-plane/sandbox-provider.ts'
import { sandboxFiles } from './sandbox-files.ts'
import { SandboxCommands } from './sandbox/commands.ts'
import { ProcessSandbox, type ProcessSpec, type Times, WORKING_DIR } from './sandbox/process-sandbox.ts'
import { Watchdog } from './sandbox/watchdog.ts'

/** Options of process sandboxes. */
export interface ProcessSandboxesOptions {
  /** Folder of the sandboxes. Services can share the folder; each service runs the sandboxes that it started. */
  readonly directory: string
  /** Templates, the default template first. Default: one template without a process. */
  readonly specs?: readonly ProcessSpec[]
  /** Whether clients may use files and commands, with the rights of the service's user. Default: false. */
  readonly givesFiles?: boolean
  /** Maximum milliseconds for a command to start. Default: 120,000. */
  readonly startTimeout?: number
  /** Milliseconds between health checks of a running command. Default: 5,000. */
  readonly healthInterval?: number
  /** Milliseconds between SIGTERM and SIGKILL. Default: 2,000. */
  readonly killTimeout?: number
}

const RESTARTED: SandboxState = {
  ...NO_STATE,
  status: 'PAUSED',
  status_detail: 'It ended with the service. Resume restarts it with its files.',
}

/**
 * Returns a sandbox provider that runs each sandbox as a process group. Commands run with the rights of the
 * service's user. Of the service's environment variables, commands receive only PATH, LANG, LC_ALL, TZ and
 * TMPDIR. A helper process ends the commands when the provider or the service ends, even if the service is
 * killed.
 * @throws ColloquyError `invalid_argument` for invalid specs and unknown options.
 * @example
 * const sandboxes = processSandboxes({
 *   directory: 'sandboxes',
 *   specs: [{ id: 'agent', command: ['agent-server'], health: '/alive' }],
 * })
 * sandboxes.specs[0].working_dir // 'workspace'
 * await sandboxes.state('a1', 'agent') // null
 * await sandboxes.close()
 */
export function processSandboxes(options: ProcessSandboxesOptions): SandboxProvider {
  checkOptionNames(options, 'directory specs givesFiles startTimeout healthInterval killTimeout')
  const { specs = [{ id: 'workspace', command: null }] } = options
  const root = resolve(options.directory)
  const times: Times = {
    start: options.startTimeout ?? 120_000,
    look: options.healthInterval ?? 5_000,
    response: 5_000,
    killTimeout: options.killTimeout ?? 2_000,
  }
  checkSpecs(specs)
  const created = new Date().toISOString()
  const watchdog = new Watchdog()
  const commands = new SandboxCommands(watchdog)
  const live = new Map<string, ProcessSandbox>()
  let closed = false
  const folderOf = (id: string): string => join(root, id)
  const specOf = (specId: string): ProcessSpec | undefined => specs.find(({ id }) => id === specId)
  const hasCommand = (specId: string): boolean => specOf(specId)?.command !== null
  const isPaused = (id: string): boolean => {
    // A folder without a stored state may not belong to a sandbox, so it does not count as paused.
    const state = live.get(id)?.state ?? stateOf(readClaim(folderOf(id)), false)
    // A closed provider refuses commands with its own error.
    return !closed && state.status === 'PAUSED'
  }

  const start = async (id: string, specId: string): Promise<void> => {
    const spec = specOf(specId)
    if (closed) throw new ColloquyError('closed', 'The sandbox manager is closed. Create another one.')
    if (spec === undefined)
      throw invalid(`Unknown sandbox spec ${JSON.stringify(specId)}. Pass an id from the option \`specs\`.`)
    if (!isName(id))
      throw invalid(`Sandbox id ${JSON.stringify(id)} must be 1 to 64 letters, digits, - or _.`)
    const directory = folderOf(id)
    if (!live.has(id) && hasCommand(specId) && !claim(directory, { ...NO_STATE, status: 'STARTING' })) return
    const onChange = (state: SandboxState): void =>
      writeClaim(directory, state, hasCommand(specId) ? process.pid : null)
    const sandbox = live.get(id) ?? new ProcessSandbox({ id, spec, directory, watchdog, times, onChange })
    live.set(id, sandbox)
    await sandbox.begin()
    // All processes use the stored state of a sandbox without a command. If it cannot be stored, keep it in memory.
    const isStored = readClaim(directory)?.state.status === 'RUNNING'
    if (!hasCommand(specId) && sandbox.state.status === 'RUNNING' && isStored) live.delete(id)
    await commands.resume(id)
  }

  return {
    ...(options.givesFiles === true && { files: sandboxFiles(root, commands, isPaused) }),
    machine: hostname(),
    specs: specs.map((spec): SandboxSpec => ({
      id: spec.id,
      command: spec.command,
      created_at: created,
      initial_env: spec.initial_env ?? {},
      working_dir: spec.working_dir ?? WORKING_DIR,
    })),
    start,
    resume: start,
    async state(id, specId) {
      const sandbox = live.get(id)
      if (sandbox !== undefined) return sandbox.state
      if (!isName(id) || !(await isDirectory(folderOf(id)))) return null
      const state = stateOf(readClaim(folderOf(id)), hasCommand(specId))
      const spec = specOf(specId)
      // The folder may have moved since the state was stored.
      const working_dir = spec === undefined ? null : join(folderOf(id), spec.working_dir ?? WORKING_DIR)
      return { ...state, working_dir }
    },
    async pause(id) {
      const sandbox = live.get(id)
      if (sandbox !== undefined) await sandbox.pause()
      else if (isName(id)) pauseStored(folderOf(id))
      await commands.pause(id)
    },
    async delete(id) {
      const sandbox = live.get(id)
      await commands.end(id)
      await sandbox?.close('MISSING', null)
      // Retry if another process adds or removes files in the folder at the same time.
      if (isName(id)) await rm(folderOf(id), { recursive: true, force: true, maxRetries: 10 })
      live.delete(id)
    },
    async close() {
      closed = true
      await commands.close()
      await Promise.all([...live.values()].map((sandbox) => sandbox.close('PAUSED', RESTARTED.status_detail)))
      for (const id of live.keys()) writeClaim(folderOf(id), RESTARTED, null)
      live.clear()
      await watchdog.close()
    },
  }
}

const isName = (id: string): boolean => /^[\w-]{1,64}$/.test(id)

const isDirectory = async (path: string): Promise<boolean> =>
  (await stat(path).catch(() => null))?.isDirectory() === true

function checkSpecs(specs: readonly ProcessSpec[]): void {
  if (specs.length === 0) throw invalid('Pass at least one sandbox spec.')
  if (new Set(specs.map(({ id }) => id)).size < specs.length)
    throw invalid('Two sandbox specs have the same id. Use unique ids.')
  for (const { id, command, working_dir: folder = WORKING_DIR } of specs) {
    const inside = normalize(folder)
    if (isAbsolute(folder) || inside === '..' || inside.startsWith('../') || inside === '.') {
      throw invalid(
        `The \`working_dir\` of sandbox spec ${JSON.stringify(id)} must be a relative path to a folder within the sandbox's folder.`,
      )
    }
    if (command !== null && command.length === 0) {
      throw invalid(
        `The \`command\` of sandbox spec ${JSON.stringify(id)} is empty. Pass a program and its arguments, or null for no process.`,
      )
    }
  }
}

interface Claim {
  /** The process that runs the command; null if no process does. */
  readonly pid: number | null
  /** Start time of the process, because its pid may be reused. Null if the system does not report it. */
  readonly began: string | null
  readonly state: SandboxState
}

const fileIn = (directory: string): string => join(directory, 'sandbox.json')

function claim(directory: string, state: SandboxState): boolean {
  const before = readClaim(directory)
  if (before !== null && isElsewhere(before)) return false
  try {
    mkdirSync(directory, { recursive: true })
  } catch {
    // If the directory is unusable, starting the process reports it.
  }
  writeClaim(directory, state, process.pid)
  return true
}

function writeClaim(directory: string, state: SandboxState, pid: number | null): void {
  try {
    const claim: Claim = { pid, began: startTimeOf(process.pid), state }
    const temporary = `${fileIn(directory)}.${process.pid}`
    // The state contains the key of the sandbox's server, which other users of the machine must not read.
    writeFileSync(temporary, JSON.stringify(claim), { mode: 0o600 })
    renameSync(temporary, fileIn(directory))
  } catch {
    // The disk is full or the folder was deleted: other processes see an older state.
  }
}

function pauseStored(directory: string): void {
  const { pid, state } = readClaim(directory) ?? { pid: null, state: NO_STATE }
  if (pid === null) writeClaim(directory, { ...state, status: 'PAUSED' }, null)
}

const isElsewhere = ({ pid, began }: Claim): boolean =>
  pid !== null && pid !== process.pid && startTimeOf(pid) === began && isAlive(pid)

/** Returns the state of a sandbox that this process does not run. */
function stateOf(claim: Claim | null, hasCommand: boolean): SandboxState {
  if (claim !== null && claim.pid !== null) return isElsewhere(claim) ? claim.state : RESTARTED
  if (hasCommand) return RESTARTED
  // A sandbox without a command has no process that could have ended.
  return claim?.state ?? { ...NO_STATE, status: 'RUNNING' }
}

function readClaim(directory: string): Claim | null {
  const claim: unknown = attempt(() => JSON.parse(readFileSync(fileIn(directory), 'utf8')), null)
  return isObject(claim) && isObject(claim['state']) ? (claim as unknown as Claim) : null
}

const isAlive = (pid: number): boolean => attempt(() => process.kill(pid, 0), false)

/** Start time of a process in clock ticks; null if the system does not report it. */
function startTimeOf(pid: number): string | null {
  const status = attempt(() => readFileSync(`/proc/${pid}/stat`, 'latin1'), '')
  // The name is in parentheses and may contain anything; the start time is 19 fields after the state.
  return status.slice(status.lastIndexOf(')') + 2).split(' ')[19] ?? null
}
