import type { SandboxFiles } from '../sandbox-files/contract.ts'

/** The template of a sandbox. */
export interface SandboxSpec {
  /** Unique name; the reference of a container image. */
  readonly id: string
  /** Command to start in the sandbox; null for a working directory without a process. */
  readonly command: readonly string[] | null
  readonly created_at: string
  readonly initial_env: Readonly<Record<string, string>>
  readonly working_dir: string
}

export const SANDBOX_STATUSES = ['STARTING', 'RUNNING', 'PAUSED', 'ERROR', 'MISSING'] as const

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
  /** The key that the sandbox's own server requires; null unless it runs. */
  readonly session_api_key: string | null
  /** Null unless it runs. */
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
 * Runs sandboxes. The control plane stores records and decides when to start and stop; the provider knows no
 * conversations. Failures appear in `state` as ERROR with a reason; methods throw only if even that is
 * impossible.
 */
export interface SandboxProvider {
  /** Their files, and commands in them. Default: no access. */
  readonly files?: SandboxFiles
  /**
   * Machine that runs the sandboxes, if others cannot reach them. A lease in the store then binds each to the
   * machine that started it. Default: all processes reach the same sandboxes.
   */
  readonly machine?: string
  readonly specs: readonly SandboxSpec[]
  /** Starts or restarts a sandbox: its state is STARTING, then RUNNING or ERROR. */
  readonly start: (id: string, specId: string) => Promise<void>
  /** Null for an unknown sandbox. A sandbox whose spec has no command is RUNNING while its files exist. */
  readonly state: (id: string, specId: string) => Promise<SandboxState | null>
  readonly pause: (id: string) => Promise<void>
  readonly resume: (id: string, specId: string) => Promise<void>
  readonly delete: (id: string) => Promise<void>
  readonly close: () => Promise<void>
}
