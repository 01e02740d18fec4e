import type { SandboxFiles } from '../sandbox-files/contract.ts'

/** A template of sandboxes. */
export interface SandboxSpec {
  /** Unique name, such as the reference of a container image. */
  readonly id: string
  /** Command to start in the sandbox; null for a working directory without a process. */
  readonly command: readonly string[] | null
  readonly created_at: string
  readonly initial_env: Readonly<Record<string, string>>
  readonly working_dir: string
}

export const SANDBOX_STATUSES = ['STARTING', 'RUNNING', 'PAUSED', 'ERROR', 'MISSING'] as const

/** Status of a sandbox. */
export type SandboxStatus = (typeof SANDBOX_STATUSES)[number]

/** The address of a server in a sandbox. */
export interface ExposedUrl {
  readonly name: string
  readonly url: string
  readonly port: number
}

/** The state of a sandbox. */
export interface SandboxState {
  readonly status: SandboxStatus
  readonly status_detail: string | null
  /** Key that the server in the sandbox requires; null unless the sandbox runs. */
  readonly session_api_key: string | null
  /** Addresses of the sandbox's servers; null unless the sandbox runs. */
  readonly exposed_urls: readonly ExposedUrl[] | null
  readonly working_dir: string | null
}

export const NO_STATE: SandboxState = {
  status: 'MISSING',
  status_detail: null,
  session_api_key: null,
  exposed_urls: null,
  working_dir: null,
}

/**
 * Runs sandboxes. The control plane decides when to start and stop them; the provider does not know about
 * conversations. After a failure, `state` returns the status ERROR with a reason. Methods throw only failures
 * that `state` cannot return.
 */
export interface SandboxProvider {
  /** Access to files and commands in the sandboxes. Default: no access. */
  readonly files?: SandboxFiles
  /**
   * Name of this machine. Set it if other machines cannot reach its sandboxes. A lease in the store then binds
   * each sandbox to its machine. Default: none; every process can reach every sandbox.
   */
  readonly machine?: string
  readonly specs: readonly SandboxSpec[]
  /** Starts or restarts a sandbox. Its state becomes STARTING, then RUNNING or ERROR. */
  readonly start: (id: string, specId: string) => Promise<void>
  /**
   * Returns the state of a sandbox; null if the provider does not know it. A sandbox without a command is
   * RUNNING while its files exist, unless it is paused.
   */
  readonly state: (id: string, specId: string) => Promise<SandboxState | null>
  readonly pause: (id: string) => Promise<void>
  readonly resume: (id: string, specId: string) => Promise<void>
  readonly delete: (id: string) => Promise<void>
  readonly close: () => Promise<void>
}
