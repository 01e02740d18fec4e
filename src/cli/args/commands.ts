/** The table of commands: what each one is called, takes and prints. */

import { GRAMMARS } from '../../laws/index.ts'
import { SESSION_FORMATS } from '../../sessions/index.ts'
import { MAX_PAGE_SIZE } from '../../store/kit/index.ts'

/** The commands that read conversations, from files or from a database. */
export type FileCommand =
  | 'check'
  | 'replay'
  | 'view'
  | 'messages'
  | 'tree'
  | 'stuck'
  | 'why'
  | 'condense'
  | 'convert'

/** The commands that work on a database alone. */
export type DatabaseCommand = 'import' | 'export' | 'search' | 'conversations' | 'serve'

/** Every command by name. */
export type CommandName = FileCommand | DatabaseCommand | 'inspect' | 'demo' | 'help'

/** A flag beside `--help`. */
export type Flag =
  | 'json'
  | 'at'
  | 'leaf'
  | 'format'
  | 'from'
  | 'to'
  | 'content'
  | 'db'
  | 'conversation'
  | 'timezone'
  | 'output'
  | 'force'
  | 'redact'
  | 'kind'
  | 'source'
  | 'since'
  | 'until'
  | 'text'
  | 'desc'
  | 'limit'
  | 'page'
  | 'host'
  | 'port'
  | 'workspace'
  | 'memory'
  | 'agent'
  | 'config'
  | 'allow-origin'
  | 'max-events'
  | 'summary'
  | 'budget'
  | 'laws'
  | 'ended'
  | 'grammar'
  | 'html'
  | 'inspect'
  | 'open'

/** What `messages` can write. */
export const FORMATS: readonly string[] = ['neutral', ...GRAMMARS.map(({ name }) => name)]

/** What a file may be said to hold. */
export const FROM = ['events', ...SESSION_FORMATS] as const

/** What `convert` can write. */
export const TARGETS = ['atif', 'otel'] as const

/** One of these. */
export type Target = (typeof TARGETS)[number]

/** In what forms `check --laws` reports. */
export const REPORTS = ['text', 'json', 'junit'] as const

/** One of the forms of a report. */
export type ReportForm = (typeof REPORTS)[number]

/** The grammars in which requests can be judged: all that `messages` writes but the neutral form. */
export const GRAMMAR_NAMES: readonly string[] = GRAMMARS.map(({ name }) => name)

/** What stands in place of what is forgotten, where the user gives no summary. */
export const PLACEHOLDER_SUMMARY = '[Earlier events were left out.]'

/** One of the grammars that `messages` writes. */
export type Format = string

/** What `export` can write. */
export const LAYOUTS = ['jsonl', 'directory', 'zip'] as const

/** One of the forms that `export` writes. */
export type Layout = (typeof LAYOUTS)[number]

/** The facts of one command, for the parser and the help page alike. */
export interface CommandFacts {
  /** What follows the name on the command line, one line for each way to call it. */
  readonly synopsis: readonly string[]
  readonly about: string
  /** What it reads from: files, a database, both, or nothing. */
  readonly reads: readonly ('files' | 'database')[]
  readonly flags: readonly Flag[]
  /** What the help page of the command adds. */
  readonly more: readonly string[]
}

const STORED = '--db FILE_OR_URL --conversation ID'

const fileCommand = (about: string, options: string, flags: readonly Flag[], more: readonly string[]) => ({
  synopsis: [`FILE… [--from FORM] ${options}`, `${STORED} ${options}`].flatMap((line) => line.split('\n')),
  about,
  reads: ['files', 'database'] as const,
  flags: ['json', 'from', 'db', 'conversation', ...flags] as const,
  more,
})

export const COMMANDS: Readonly<Record<CommandName, CommandFacts>> = {
  check: fileCommand(
    'say which events load, and what is wrong with the others',
    '[--json]\n[--laws [--ended] [--grammar GRAMMAR]… [--format FORMAT]]',
    ['laws', 'ended', 'grammar', 'format'],
    [
      'Exits with 1 when there is an issue: a line that does not load. Everything else that no correct server writes is a note: what a replay repairs, results that end no call on any branch, payloads that do not fit their kind, and numbers and keys that JSON loses.',
      'With --laws, the log of any server is held to the laws of properties/laws.md: its tree, calls and results, view, status and records of replies. What breaks one is named by the law, the event and what a correct server would have written, and the exit code is 1.',
      'With --ended, the server is done with it: no call may be without a result, unless it waits for a user, and the status may not be running.',
      `With --grammar (${GRAMMAR_NAMES.join(', ')}), also what would be sent of the log in it, by its provider’s rules, and the prefixes that replies record.`,
      `FORMAT is one of ${REPORTS.join(', ')}; junit is one document for all FILEs.`,
    ],
  ),
  replay: fileCommand(
    'fold the log into its state: status, HEAD, pending calls, what was repaired',
    '[--at EVENT_ID] [--json]',
    ['at'],
    [
      'With --at, the state at that event: the branch that it stands on, and the status that the log had then.',
    ],
  ),
  view: fileCommand(
    'list what the model may see, and where it may be cut',
    '[--leaf EVENT_ID] [--json]',
    ['leaf'],
    ['With --leaf, the view of the branch that ends at that event.'],
  ),
  messages: fileCommand(
    'write what the model is sent, in a provider’s grammar',
    '[--leaf EVENT_ID]\n[--format FORMAT] [--budget TOKENS] [--json]',
    ['leaf', 'format', 'budget'],
    [
      `FORMAT is one of ${FORMATS.join(', ')}; the default is neutral.`,
      'A provider’s format is one JSON document for each FILE, below a heading on a terminal and without one in a pipe.',
      'With --leaf, the messages of the branch that ends at that event.',
      'With --budget, the oldest events are left out until the rest takes TOKENS, by an estimate that knows no tokenizer. The system prompt and the last user message stay; when they alone are over it, the exit code is 1.',
      'Encrypted reasoning is never printed: null stands in its place.',
    ],
  ),
  tree: fileCommand('draw the tree of events, its branches and HEAD', '[--json]', [], []),
  stuck: fileCommand(
    'say whether the agent goes round in circles, how, and which events show it',
    '[--leaf EVENT_ID] [--json]',
    ['leaf'],
    [
      'Since the last message of a user: the same call with the same result 4 times, the same call failing 4 times, 3 messages without a call, or two steps by turns, 6 in a row.',
      'With --leaf, the branch that ends at that event.',
      'The nudge is what to send the model once the same call has failed 3 times.',
      'The exit code is 0 whether it is stuck or not; --json says which.',
    ],
  ),
  why: {
    synopsis: [
      'FILE [EVENT_ID] [--from FORM] [--leaf EVENT_ID] [--budget TOKENS] [--json]',
      `${STORED} [EVENT_ID] [--leaf EVENT_ID]`,
      '[--budget TOKENS] [--json]',
    ],
    about: 'say why an event is in the view or not, and what is wrong in a conversation',
    reads: ['files', 'database'],
    flags: ['json', 'from', 'db', 'conversation', 'leaf', 'budget'],
    more: [
      'Of an event: what keeps it out of the view, what took it out, what it was paired with and what goes with it, each with the rule or law that it follows from.',
      'Without EVENT_ID, the findings, the worst first: results that end no call, batches that were split, calls that stand twice, requests that do not begin as the one before, circles, replies that were cut off, branches that were left, condensations that forgot the task, and what looks like a secret.',
      'With --leaf, as seen from the branch that ends at that event. With --budget, also what a request of TOKENS would leave out.',
      'The exit code is 0 whatever is found; --json says it.',
    ],
  },
  condense: fileCommand(
    'show what a condensation would forget, and the view before and after it',
    '--max-events N\n[--summary TEXT] [--leaf EVENT_ID] [--json]',
    ['max-events', 'summary', 'leaf'],
    [
      'A view of more than N events (4 or more) is cut to about half of that, one that the log asks to condense to about half of its own. The first two events, the system prompt and the last user message stay; batches go whole, and what waits for an answer stays. Nothing is written.',
      `TEXT stands in place of what goes; without it “${PLACEHOLDER_SUMMARY}” does.`,
      'With --json, {"file","condensation","reason","view_before","view"}: the event to append or null; events or request, or not_needed or nothing_to_forget; the number of events before, and the ids after.',
    ],
  ),
  convert: fileCommand(
    'write a branch for tools that evaluate and trace agents',
    '[--to TARGET] [--leaf EVENT_ID]\n[--content] [--json]',
    ['to', 'leaf', 'content'],
    [
      'TARGET is atif, a trajectory in the Agent Trajectory Interchange Format, or otel, spans by the conventions of OpenTelemetry for generative AI, in the JSON form that a collector takes at /v1/traces; the default is atif. One JSON document for each FILE.',
      'The spans stand at the times of the events, and have the same ids each time. They hold no words unless --content is given; a trajectory always does.',
      'With --leaf, the branch that ends at that event.',
    ],
  ),
  inspect: {
    synopsis: [
      'FILE… [--from FORM] [--port PORT] [--open] [--redact]',
      '[--html PATH [--force]]',
      '--db FILE_OR_URL [--conversation ID] [--port PORT] [--open] [--redact]',
      '[--html PATH [--force]]',
    ],
    about: 'look into conversations in a browser: each event, the view, what is sent and why',
    reads: ['files', 'database'],
    flags: ['from', 'db', 'conversation', 'port', 'open', 'html', 'force', 'redact'],
    more: [
      'Serves a page to this machine alone and prints its address; PORT is any that is free unless one is given. With --open, it is shown in the browser. Ends on SIGINT and SIGTERM.',
      'With --html, one file is written in its place, with the logs in it, that opens without a server; it holds all that the page shows, so give it to those who may read the conversation. With --force, a file that PATH names is replaced.',
      'Without --conversation, any of the newest 2,000 conversations of the database can be chosen; with it, that one and those that it has started.',
      'Encrypted reasoning is left out. With --redact, API keys, tokens, passwords and private keys are masked, too.',
    ],
  },
  import: {
    synopsis: ['FILE… --db FILE_OR_URL [--from FORM] [--timezone ZONE] [--conversation ID] [--json]'],
    about: 'copy recorded conversations into a database',
    reads: ['files', 'database'],
    flags: ['json', 'from', 'db', 'conversation', 'timezone'],
    more: [
      'A conversation is called as base_state.json or meta.json says, else as --conversation says, else by its file’s name.',
      'Timestamps without a zone are read in ZONE (as in Europe/Berlin), UTC when it is left out.',
      'Importing again adds only what is not there yet, so an import that broke off is simply made again.',
      'A database file that is not there is made.',
    ],
  },
  export: {
    synopsis: [`${STORED} [--format FORMAT] [--output PATH] [--force] [--redact]`],
    about: 'write a conversation of a database to a file or directory that import reads back',
    reads: ['database'],
    flags: ['db', 'conversation', 'format', 'output', 'force', 'redact'],
    more: [
      `FORMAT is one of ${LAYOUTS.join(', ')}; the default is zip for PATH.zip, else jsonl, on standard output unless PATH is given.`,
      'Lines that could not be read as events are written in their place, as they were.',
      'Nothing is left out: what is encrypted in the events, as reasoning is, stands in the export.',
      'With --force, a file or an earlier export that PATH names is replaced.',
      'With --redact, API keys, tokens, passwords and private keys are masked, wherever they stand; ids stay.',
    ],
  },
  search: {
    synopsis: [
      `${STORED} [--kind KIND]… [--source SOURCE]`,
      '[--since TIME] [--until TIME] [--text TEXT] [--leaf EVENT_ID] [--desc]',
      '[--limit N] [--page CURSOR] [--json]',
    ],
    about: 'find events of a conversation in a database, a page at a time',
    reads: ['database'],
    flags: [
      'json',
      'db',
      'conversation',
      'kind',
      'source',
      'since',
      'until',
      'text',
      'leaf',
      'desc',
      'limit',
      'page',
    ],
    more: [
      'In order of time: from --since on, and before --until (ISO 8601, in UTC where they name no zone).',
      'SOURCE is agent, user, environment or hook; TEXT is a part of a message, in any case of its letters.',
      `With --leaf, only events on the path to that one. N is 1 to ${MAX_PAGE_SIZE}; CURSOR is the next_page_id of a page.`,
      'With --json, one object {"items","next_page_id"} on one line.',
    ],
  },
  conversations: {
    synopsis: ['--db FILE_OR_URL [--limit N] [--page CURSOR] [--json]'],
    about: 'list the conversations of a database, the newest first',
    reads: ['database'],
    flags: ['json', 'db', 'limit', 'page'],
    more: [
      `N is 1 to ${MAX_PAGE_SIZE}; CURSOR is the next_page_id of a page.`,
      'With --json, one object {"items","next_page_id"} on one line.',
    ],
  },
  serve: {
    synopsis: [
      '[--db FILE_OR_URL] [--host HOST] [--port PORT]',
      '[--agent MODULE] [--workspace DIR] [--memory MIB] [--redact] [--config FILE]',
      '[--allow-origin ORIGIN]... [--inspect]',
    ],
    about: 'serve conversations over HTTP and WebSocket',
    reads: ['database'],
    flags: [
      'db',
      'host',
      'port',
      'agent',
      'workspace',
      'memory',
      'redact',
      'config',
      'allow-origin',
      'inspect',
    ],
    more: [
      'Without --db, the conversations are kept in colloquy.db, here; a database file that is not there is made.',
      'HOST is 127.0.0.1 and PORT 8000 unless others are given; PORT 0 is any that is free.',
      'With COLLOQUY_SESSION_API_KEYS (keys, with commas between) set, a key is asked for in X-Session-API-Key; without, no other machine is let in, and HOST must be an address of this machine alone.',
      'Pages of this machine may use it from a browser, whatever their port; with --allow-origin, as in https://app.example.com, also those of that origin, or * for all.',
      'Each sandbox is a process group of this machine in a folder of its own: for x.db in x-sandboxes beside it, for a postgres:// URL in colloquy-sandboxes, in DIR or else here. The first sandbox makes that folder; what runs in a sandbox may do what the service may, and ends with it; its files stay.',
      'Idle conversations may take MIB mebibytes of memory, roughly: 256 unless another number, or cache_bytes in FILE, is given.',
      'With --redact, API keys, tokens, passwords and private keys are masked in what is written of conversations from then on, which agents then see masked as well, and in what anybody may read of public ones, whenever it was written; redact in FILE names one of the two alone ("stored", "public").',
      'DIR must be there; with it, directories may be made below it (/api/file/create_directory).',
      'FILE is JSON: sandbox_specs, sandbox_directory (looked for from where FILE is), sandbox_workspaces (true: clients may use the files of sandboxes, and run commands in them), max_sandboxes, webhooks, max_profiles, quota, editor, max_body_bytes, cache_bytes, redact, live. Of a sandbox spec: id, command, initial_env, working_dir, health; the first is the default, and without any it is a working directory in which nothing runs. Of a webhook: url, secret_env (a variable that holds the secret; or secret itself), id, from, kinds, headers, max_batch_events, max_batch_bytes, concurrency, timeout, retry_delay, max_retry_delay. Of the editor: port, token_env, base_path. Of quota: per_day (conversations that may be started in a day, for each organization), exempt (ids of organizations). Of live: max_per_conversation, max_total, buffer_chars, write_timeout, heartbeat_interval. Times are in milliseconds.',
      'With COLLOQUY_SECRET (16 characters or more) set, API keys of models are kept, sealed with it; without, profiles and settings that hold one are refused.',
      'With --inspect, /inspect shows conversations event by event as they go on; the page asks for a key where one is asked for.',
      'MODULE is a file of JavaScript or TypeScript that exports a step, as those of colloquy/steps (export const step = …, or the default), and may export run, the options of runs (condenser, policy, hooks). Without, the agent repeats what the user said.',
      'Prints its URL; a line of JSON for each request goes to standard error. Ends on SIGINT and SIGTERM, when what is under way is done.',
    ],
  },
  demo: {
    synopsis: [''],
    about: 'replay the sample conversation that ships with colloquy',
    reads: [],
    flags: [],
    more: [],
  },
  help: {
    synopsis: ['[COMMAND]'],
    about: 'this page, or the page of a command',
    reads: [],
    flags: [],
    more: [],
  },
}

/** Whether a text names a command. */
export function isCommand(text: string): text is CommandName {
  return Object.hasOwn(COMMANDS, text)
}
