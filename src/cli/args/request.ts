/** What the user asks for, once the command line is understood. */

import type { EventKind } from '../../index.ts'
import type { EventFilter } from '../../store/kit/index.ts'
import type { CommandName, FileCommand, Format, Layout, ReportForm, Target } from './commands.ts'
import type { Address } from '../db/address.ts'
import type { From } from '../input/facts.ts'

/** A conversation in a database. */
export interface Stored {
  readonly db: Address
  readonly conversation: string
}

/** A check by the laws. */
export interface LawRequest {
  readonly ended: boolean
  readonly grammars: readonly string[]
  readonly form: ReportForm
}

/** A command over files, or over a conversation in a database. */
export interface FileRequest {
  readonly command: FileCommand
  /** None when `stored` is there. */
  readonly files: readonly string[]
  readonly stored: Stored | null
  /** What the files are; null where they are to tell. */
  readonly from: From | null
  readonly json: boolean
  /** The event to look from, given by `--at` or `--leaf`; null for HEAD. */
  readonly event: string | null
  readonly format: Format
  /** For `check --laws`: how the log is held to the laws, and reported; else null. */
  readonly laws: LawRequest | null
  /** For `why`: the event that is asked about, as it was typed; null for the whole conversation. */
  readonly subject?: string | null
  /** For `convert`. */
  readonly to?: Target
  /** For `convert`: whether spans hold what was said. */
  readonly content?: boolean
  /** For `messages` and `why`: how many tokens a request may take. */
  readonly budget?: number
  /** For `condense`: always there. */
  readonly maxEvents?: number
  /** For `condense`: a text that says something. */
  readonly summary?: string
}

/** Files to be copied into a database. */
export interface ImportRequest {
  readonly command: 'import'
  readonly files: readonly string[]
  readonly db: Address
  /** The id for a file that names none. */
  readonly conversation: string | null
  readonly timeZone: string | null
  /** What the files are; null where they are to tell. */
  readonly from: From | null
  readonly json: boolean
}

/** A conversation to be written out. */
export interface ExportRequest extends Stored {
  readonly command: 'export'
  readonly layout: Layout
  /** Null for standard output. */
  readonly output: string | null
  readonly force: boolean
  /** Whether what looks like a secret is masked. */
  readonly redact: boolean
}

/** Which page of a list is asked for. */
export interface PageRequest {
  readonly limit: number | null
  readonly page: string | null
  readonly json: boolean
}

/** What a search lets through. */
export type Filter = Pick<EventFilter, 'source' | 'text' | 'timestampGte' | 'timestampLt' | 'leafId'> & {
  readonly kinds?: readonly EventKind[]
}

/** Events to be found. */
export interface SearchRequest extends Stored, PageRequest {
  readonly command: 'search'
  readonly filter: Filter
  readonly descending: boolean
}

/** Conversations to be listed. */
export interface ConversationsRequest extends PageRequest {
  readonly command: 'conversations'
  readonly db: Address
}

/** A service to be run. */
export interface ServeRequest {
  readonly command: 'serve'
  readonly db: Address
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** The folder that directories may be made in; null for none. */
  readonly workspace: string | null
  /** Bytes that idle conversations may take in memory; null for what the file says, or the default. */
  readonly cacheBytes: number | null
  /** Whether secrets are masked in what is written, and in what anybody may read. */
  readonly redact: boolean
  /** The module of the agent; null for the one that repeats what users say. */
  readonly agent: string | null
  /** Whether the page of the inspector is served, too. */
  readonly inspect: boolean
  /** The file with what else there is to say; null for none. */
  readonly config: string | null
  /** Origins of which pages may use it, beside those of this machine. */
  readonly allowOrigins: readonly string[]
}

/** A page to be shown. */
export interface InspectRequest {
  readonly command: 'inspect'
  /** None when `stored` is there. */
  readonly files: readonly string[]
  /** A database, and the conversation of it that is meant; null for any. */
  readonly stored: { readonly db: Address; readonly conversation: string | null } | null
  /** What the files are; null where they are to tell. */
  readonly from: From | null
  /** 0 for any that is free. */
  readonly port: number
  /** Whether the browser is started. */
  readonly open: boolean
  /** The file to write in place of serving; null for none. */
  readonly html: string | null
  readonly force: boolean
  /** Whether what looks like a secret is masked. */
  readonly redact: boolean
}

/** What the user asks for. */
export type Request =
  | InspectRequest
  | FileRequest
  | ImportRequest
  | ExportRequest
  | SearchRequest
  | ConversationsRequest
  | ServeRequest
  | { readonly command: 'demo' | 'version' }
  | { readonly command: 'help'; readonly topic: CommandName | null }
