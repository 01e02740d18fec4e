/** The contract of a sandbox provider, and the states of a sandbox. */

import type { SandboxFiles } from '../sandbox-files/contract.ts'

/** What a sandbox is made from. */
export interface SandboxSpec {
  /** Names it; for container images, their reference. */
  readonly id: string
  /** What is started in it; null for nothing: a working directory alone. */
  readonly command: readonly string[] | null
  readonly created_at: string
  /** Added to what the provider sets. */
  readonly initial_env: Readonly<Record<string, string>>
  readonly working_dir: string
}

export const SANDBOX_STATUSES = ['STARTING', 'RUNNING', 'PAUSED', 'ERROR', 'MISSING'] as const

export type SandboxStatus = (typeof SANDBOX_STATUSES)[number]

/** Where something in a sandbox can be reached. */
export interface ExposedUrl {
  readonly name: string
  readonly url: string
  readonly port: number
}

/** How a sandbox stands. */
export interface SandboxState {
  readonly status: SandboxStatus
  /** Why, where that is not plain: the reason of a failure above all. */
  readonly status_detail: string | null
  /** What the sandbox's own server asks for; null unless it runs. */
  readonly session_api_key: string | null
  /** Null unless it runs. */
  readonly exposed_urls: readonly ExposedUrl[] | null
  /** Where its files are, for its users. */
  readonly working_dir: string | null
}

/** The state of one of which nothing is known. */
export const NO_STATE: SandboxState = {
  status: 'MISSING',
  status_detail: null,
  session_api_key: null,
  exposed_urls: null,
  working_dir: null,
}

/**
 * What runs sandboxes. The control plane keeps the records and says when; a provider does it, and knows nothing of
 * conversations. What fails shows in `state`, as ERROR with its reason; a method throws only where not even that is
 * possible.
 */
export interface SandboxProvider {
  /** Their files, and commands in them. Default: none are given out. */
  readonly files?: SandboxFiles
  /** In order; the first is the default. */
  readonly specs: readonly SandboxSpec[]
  /** Begins a sandbox, or begins it again where it was: its state goes by STARTING to RUNNING or ERROR. */
  readonly start: (id: string, specId: string) => Promise<void>
  /**
   * Null for a sandbox that it knows nothing of. One of a spec without a command runs for as long as its files are
   * there.
   */
  readonly state: (id: string, specId: string) => Promise<SandboxState | null>
  /** Holds it; nothing for one that does not run. */
  readonly pause: (id: string) => Promise<void>
  /** Lets one that is held go on, and begins one that has ended again. */
  readonly resume: (id: string, specId: string) => Promise<void>
  /** Ends it, and takes its files away. */
  readonly delete: (id: string) => Promise<void>
  /** Ends all of them; their files stay. May be called again. */
  readonly close: () => Promise<void>
}

/** The contract of a sandbox provider, and the states of a sandbox. */
