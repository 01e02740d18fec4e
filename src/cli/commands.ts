/** A table of all commands and their options. The parser, the types and the help pages are derived from this table. */

import { parseInstant, SOURCES } from '../event/index.ts'
import { EVENT_KINDS } from '../index.ts'
import { GRAMMARS } from '../laws/index.ts'
import { SESSION_FORMATS } from '../sessions/index.ts'
import { MAX_PAGE_SIZE, TEXT_ROLES } from '../store/kit/index.ts'
import { addressOf } from './db/address.ts'
import { fail } from './failure.ts'
import { wrapWords } from './print/text.ts'

const GRAMMAR_NAMES: readonly string[] = GRAMMARS.map(({ name }) => name)

export const FORMATS: readonly string[] = ['neutral', ...GRAMMAR_NAMES]

const FROM = ['events', ...SESSION_FORMATS] as const
export type From = (typeof FROM)[number]

const TARGETS = ['atif', 'otel'] as const

const REPORTS = ['text', 'json', 'junit'] as const

export const LAYOUTS = ['jsonl', 'directory', 'zip'] as const
export type Layout = (typeof LAYOUTS)[number]

export const PLACEHOLDER_SUMMARY = '[Earlier events were left out.]'

/** Parses the text of the option called `name`. @throws UsageError for an invalid text. */
type Parse<T> = (text: string, name: string) => T

interface Option<T = unknown> {
  /** Name of the value on the help page; null for an option without a value. */
  readonly value: string | null
  readonly parse: Parse<T>
  readonly isRepeated?: boolean
  readonly isRequired?: boolean
  /** Name of another option that this option requires. */
  readonly needs?: string
}

const FLAG: Option<true | undefined> = { value: null, parse: () => true }

const option = <T>(value: string, parse: Parse<T>): Option<T | undefined> => ({ value, parse })

const repeated = <T>(value: string, parse: Parse<T>): Option<readonly T[] | undefined> => ({
  value,
  parse: (text, name) => [parse(text, name)],
  isRepeated: true,
})

const required = <T>(one: Option<T>) => ({ ...one, isRequired: true }) as Option<Exclude<T, undefined>>

const needing = <T>(needs: string, one: Option<T>): Option<T> => ({ ...one, needs })

const asText: Parse<string> = (text) => text

const oneOf =
  <T extends string>(choices: readonly T[]): Parse<T> =>
  (text, name) =>
    choices.find((known) => known === text) ??
    fail(`unknown --${name} '${text}': use one of ${choices.join(', ')}`)

const numberIn =
  (least: number, limit = Infinity, unit = 'an integer'): Parse<number> =>
  (text, name) => {
    const value = Number(text)
    if (/^\d{1,15}$/.test(text) && value >= least && value <= limit) return value
    return fail(
      `--${name} must be ${unit}${limit === Infinity ? `, ${least} or more` : ` from ${least} to ${limit}`}`,
    )
  }

const asTime: Parse<string> = (text, name) => {
  // A date without a time means midnight. A time without seconds means the start of the minute.
  const minute = /^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00` : text
  const time = minute.replace(/^(.{10}[T ]\d\d:\d\d)(?=$|Z|[+-])/, '$1:00')
  if (parseInstant(time) !== undefined) return time
  return fail(
    `--${name} must be a date, or a date and time, in ISO 8601, such as 2026-01-31T10:00:00.5+01:00`,
  )
}

const asOrigin: Parse<string> = (text) => {
  const isOrigin = /^https?:/i.test(text) && URL.parse(text)?.origin === text.toLowerCase().replace(/\/$/, '')
  if (isOrigin || text === '*') return text
  return fail('--allow-origin must be an origin such as https://app.example.com, or *')
}

const asVisible: Parse<string> = (text, name) =>
  text.trim() === '' ? fail(`--${name} must not be blank`) : text

const asTimeZone: Parse<string> = (text) => {
  try {
    Intl.DateTimeFormat('en', { timeZone: text })
    return text
  } catch {
    return fail('--timezone must be an IANA time zone, such as Europe/Berlin')
  }
}

const asTag: Parse<Readonly<Record<string, string>>> = (text) => {
  const [, key, value = ''] = /^([A-Za-z0-9]\w*):([^]*)$/.exec(text) ?? []
  if (key !== undefined) return { [key]: value }
  return fail('--tag must be a key, a colon and a value, such as tenant_id:t1')
}

const DATABASE = { db: option('FILE_OR_URL', addressOf) }
const STORED = { ...DATABASE, conversation: needing('db', option('ID', asText)) }
const NEEDS_DATABASE = { db: required(DATABASE.db) }
const NEEDS_STORED = { ...NEEDS_DATABASE, conversation: required(STORED.conversation) }
const FILE = { from: option('FORM', oneOf(FROM)) }
const LEAF = { leaf: option('EVENT_ID', asText) }
const BUDGET = { budget: option('TOKENS', numberIn(0)) }
const JSON_FLAG = { json: FLAG }
const VIEWED = { ...FILE, ...STORED, ...JSON_FLAG }
const CONFIRMED = { yes: FLAG, 'dry-run': FLAG, ...JSON_FLAG }
const PORT = { port: option('PORT', numberIn(0, 65_535)) }
const PERIOD = { since: option('TIME', asTime), until: option('TIME', asTime) }
const PAGE = { limit: option('N', numberIn(1, MAX_PAGE_SIZE)), cursor: option('CURSOR', asText), json: FLAG }

type InputKind = 'files-or-conversation' | 'files-or-database' | 'files' | 'database' | 'nothing'

type OptionTable = Readonly<Record<string, Option>>

type Values<Table extends OptionTable> = { readonly [Name in keyof Table]: ReturnType<Table[Name]['parse']> }

interface Command<Table extends OptionTable, Read extends InputKind = InputKind> {
  readonly about: string
  readonly input: Read
  readonly operand?: string
  readonly options: Table
  /** Rejects invalid combinations. @throws UsageError */
  check?(options: Values<Table>, files: readonly string[]): void
  readonly more?: readonly string[]
}

const command = <Table extends OptionTable, Read extends InputKind>(
  facts: Command<Table, Read>,
): Command<Table, Read> => facts

const viewer = <Table extends OptionTable>(facts: Omit<Command<Table>, 'input'>) =>
  command<Table, 'files-or-conversation'>({ ...facts, input: 'files-or-conversation' })

export const COMMANDS = {
  check: viewer({
    about: 'report which events load, and what is wrong with the others',
    options: {
      ...VIEWED,
      laws: FLAG,
      ended: needing('laws', FLAG),
      grammar: needing('laws', repeated('GRAMMAR', oneOf(GRAMMAR_NAMES))),
      format: needing('laws', option('FORMAT', oneOf(REPORTS))),
    },
    check({ json, format = 'json' }) {
      if (json && format !== 'json') fail(`--json cannot be combined with --format ${format}`)
    },
    more: [
      'The exit code is 1 if a line does not load. Notes list smaller faults: repairs that a replay makes, results that a branch leaves out of its view, payloads that do not fit their kind, and numbers and keys that are lost when JSON is parsed.',
      'With --laws, checks the log against the laws in properties/laws.md; any server may have written the log. The laws are about the tree, calls and results, the view, the status and recorded replies. Each violation names the law and the line, and describes what a correct server writes. The exit code is 1 if a law is broken.',
      'With --ended, also requires a complete log: every call has a result or waits for a user, and the status is not running.',
      `GRAMMAR is a provider’s message format: ${GRAMMAR_NAMES.join(', ')}. With --grammar, also builds the request in that format, checks it against the provider’s rules, and checks the request prefixes that replies record.`,
      `FORMAT is one of ${REPORTS.join(', ')}; the default is text. junit writes one document for all FILEs.`,
    ],
  }),
  replay: viewer({
    about: 'show the state of a log: status, HEAD, pending calls, repairs',
    options: { ...VIEWED, at: option('EVENT_ID', asText) },
    more: ['With --at, shows the state after that event: its branch, and the status at that time.'],
  }),
  view: viewer({
    about: 'list the events that the model sees, and where the view can be cut',
    options: { ...VIEWED, ...LEAF },
  }),
  messages: viewer({
    about: 'write the messages for the model, in a provider’s format',
    options: { ...VIEWED, ...LEAF, format: option('FORMAT', oneOf(FORMATS)), ...BUDGET },
    more: [
      `FORMAT is one of ${FORMATS.join(', ')}; the default is neutral.`,
      'A provider’s format is written as one JSON document for each FILE. A heading is printed above it on a terminal, but not into a pipe.',
      'With --budget, leaves out the oldest events until the rest has at most TOKENS tokens. The number is an estimate, without a tokenizer. The system prompt and the last user message are kept; if they alone exceed TOKENS, the exit code is 1.',
      'Encrypted reasoning is printed as null.',
    ],
  }),
  tree: viewer({ about: 'draw the tree of events, its branches and HEAD', options: VIEWED }),
  stuck: viewer({
    about: 'detect whether the agent is in a loop, and which events show it',
    options: { ...VIEWED, ...LEAF },
    more: [
      'An agent is stuck if, since the last user message, it made the same call with the same result 4 times, made the same failing call 4 times, sent 3 messages without a call, or alternated between two steps for 6 steps.',
      'The nudge is a message for the model, printed after the same call has failed 3 times.',
      'The exit code is 0 even if the agent is stuck. A script can read the field stuck of the --json output.',
    ],
  }),
  why: viewer({
    about: 'explain why an event is in the view or not, and what is wrong in a conversation',
    operand: 'EVENT_ID',
    options: { ...VIEWED, ...LEAF, ...BUDGET },
    more: [
      'With EVENT_ID, reports why the event is in the view or not, what removed it, which call or result belongs to it, and which events can only be removed together with it. Each reason has a rule or law.',
      'Without EVENT_ID, lists findings, the worst first: results without a call, split batches, duplicate calls, requests that do not extend the previous request, loops, interrupted replies, abandoned branches, condensations that forgot the task, and likely secrets.',
      'With --budget, also reports what a request of TOKENS would leave out.',
      'The exit code is 0 even if there are findings. A script can read the field findings of the --json output.',
    ],
  }),
  condense: viewer({
    about: 'show which events a condensation would remove, and the view before and after',
    options: {
      ...VIEWED,
      ...LEAF,
      // With fewer than 4 events, no event could stay next to the summary.
      'max-events': required(option('N', numberIn(4))),
      summary: option('TEXT', asVisible),
    },
    more: [
      'A view of more than N events is cut to about N/2 events; N is 4 or more. If the log requests a condensation, the view is cut to about half of its events. The system prompt, the last user message, pending calls, and up to two events at the start are kept. A batch (the calls of a reply and their results) is kept or removed as a whole. Nothing is written to the log.',
      `TEXT replaces the removed events; the default is “${PLACEHOLDER_SUMMARY}”.`,
      'With --json, writes {"file","condensation","reason","view_before","view"}. condensation is the event to append, or null. reason is events (more than N), request (the log requests it), not_needed or nothing_to_forget. view_before is the number of events in the view before the condensation, and view lists the ids of the events in the view after it.',
    ],
  }),
  convert: viewer({
    about: 'convert a branch to a format of tools that evaluate or trace agents',
    options: { ...VIEWED, ...LEAF, to: option('TARGET', oneOf(TARGETS)), content: FLAG },
    more: [
      'TARGET is atif (the default) or otel. atif writes a trajectory in the Agent Trajectory Interchange Format. otel writes spans that follow the OpenTelemetry conventions for generative AI, in the JSON form that a collector accepts at /v1/traces. Writes one JSON document for each FILE.',
      'Spans have the times of the events. A second conversion produces spans with the same ids. Spans contain text only with --content; a trajectory always contains text.',
      'Subagents are included: within the trajectory, or below the spans of their calls.',
    ],
  }),
  inspect: command({
    about: 'explore conversations in a browser: events, view and requests, with reasons',
    input: 'files-or-database',
    options: {
      ...FILE,
      ...STORED,
      ...PORT,
      open: FLAG,
      redact: FLAG,
      html: option('PATH', asText),
      force: needing('html', FLAG),
    },
    check({ html, port, open, db, conversation }) {
      const isServed = port !== undefined || open !== undefined
      if (html !== undefined && isServed) fail('--html cannot be combined with --port or --open')
      if (html !== undefined && db !== undefined && conversation === undefined)
        fail('--html writes one conversation: add --conversation ID')
    },
    more: [
      'Serves a page to this machine only and prints its address; the default PORT is any free port. With --open, opens the page in the browser. Stops on SIGINT or SIGTERM.',
      'With --html, writes one file that contains the logs and opens without a server; share the file only with people who may read the logs. With --force, replaces an existing file.',
      'With --conversation, shows that conversation and the conversations that it started. Without --conversation, shows the newest 2,000 conversations of the database.',
      'Encrypted reasoning is left out. With --redact, API keys, tokens, passwords and private keys are masked, too.',
    ],
  }),
  import: command({
    about: 'copy recorded conversations into a database',
    input: 'files',
    options: {
      ...NEEDS_DATABASE,
      ...FILE,
      timezone: option('ZONE', asTimeZone),
      conversation: option('ID', asText),
      ...JSON_FLAG,
    },
    check({ conversation }, files) {
      if (conversation !== undefined && files.length > 1)
        fail('--conversation applies to a single FILE: import the files one by one, or omit --conversation')
      if (conversation === undefined && files.includes('-'))
        fail('standard input (-) has no file name to use as the id: add --conversation ID')
    },
    more: [
      'The id of a conversation is the id in colloquy.json, base_state.json or meta.json. Without these files, it is the ID of --conversation, else the id in the session, else the name of the file or folder.',
      'Timestamps without a zone are read in ZONE (such as Europe/Berlin); the default is UTC.',
      'Importing again adds only missing events, so you can repeat an interrupted import.',
      'Creates the database file if it does not exist.',
    ],
  }),
  export: command({
    about: 'write a conversation of a database to a file or directory that import reads back',
    input: 'database',
    options: {
      ...NEEDS_STORED,
      format: option('FORMAT', oneOf(LAYOUTS)),
      output: option('PATH', asText),
      force: needing('output', FLAG),
      redact: FLAG,
    },
    check(options) {
      const { output } = options
      const layout = layoutOf(options)
      if (output === undefined && layout !== 'jsonl') fail(`export --format ${layout} needs --output PATH`)
      // An import reads a .json file as one JSON document, and a .zip file as a zip, not as JSON lines.
      if (layout === 'jsonl' && /\.(?:json|zip)$/i.test(output ?? ''))
        fail('--format jsonl cannot write a .json or .zip file: use --output PATH.jsonl, or another --format')
    },
    more: [
      `FORMAT is one of ${LAYOUTS.join(', ')}; the default is zip if PATH ends in .zip, else jsonl. Without --output, writes jsonl to standard output.`,
      'Lines that are not events keep their positions, and import reads them back unchanged.',
      'The export is complete: it also contains encrypted content, such as reasoning.',
      'With --force, replaces an existing file or an earlier export.',
      'With --redact, API keys, tokens, passwords and private keys are masked everywhere; ids are kept.',
    ],
  }),
  search: command({
    about: 'find events of a conversation in a database, a page at a time',
    input: 'database',
    options: {
      ...NEEDS_STORED,
      kind: repeated('KIND', oneOf(EVENT_KINDS)),
      source: option('SOURCE', oneOf(SOURCES)),
      ...PERIOD,
      text: option('TEXT', asText),
      ...LEAF,
      desc: FLAG,
      ...PAGE,
    },
    more: [
      'Events are sorted by time, with --desc the newest first. --since is inclusive and --until exclusive; TIME is in ISO 8601, and in UTC unless it has a zone.',
      `SOURCE is one of ${SOURCES.join(', ')}; KIND is a kind of event, such as MessageEvent. --text finds messages that contain TEXT, ignoring case. EVENT_ID must be the whole id.`,
    ],
  }),
  'search-text': command({
    about: 'find words in all conversations of a database, a page at a time',
    input: 'database',
    options: {
      ...NEEDS_DATABASE,
      query: required(option('TEXT', asVisible)),
      conversation: option('ID', asText),
      owner: option('ID', asText),
      role: option('ROLE', oneOf(TEXT_ROLES)),
      ...PERIOD,
      rank: FLAG,
      results: FLAG,
      index: FLAG,
      ...PAGE,
    },
    more: [
      'All words of TEXT must occur; "words in quotes" must be next to each other, and -word must not occur.',
      'Matches are sorted newest first, or with --rank by relevance. --results also searches tool results. --since is inclusive and --until exclusive; TIME is in ISO 8601.',
      '--index creates the full-text index if the database has none, and waits until it is complete.',
      `ROLE is one of ${TEXT_ROLES.join(', ')}.`,
    ],
  }),
  conversations: command({
    about: 'list the conversations of a database, the newest first',
    input: 'database',
    options: { ...NEEDS_DATABASE, owner: option('ID', asText), ...PAGE },
    more: ['With --owner, lists only the conversations of that owner.'],
  }),
  'audit-blobs': command({
    about: 'check that every long string of a database is undamaged and in use',
    input: 'database',
    options: { ...NEEDS_DATABASE, ...JSON_FLAG },
    more: [
      'Each string of more than 65,536 characters is stored once, with its SHA-256 as the key. The command reads all these strings.',
      'The exit code is 1 if a string is missing, damaged or not used by any event.',
      'With --json, prints one object {"blobs","bytes","events","unused","damaged","missing"} on one line.',
    ],
  }),
  delete: command({
    about: 'delete conversations of a database, and everything stored for them',
    input: 'database',
    options: {
      ...NEEDS_DATABASE,
      conversation: repeated('ID', asText),
      owner: option('ID', asVisible),
      tag: repeated('KEY:VALUE', asTag),
      before: option('TIME', asTime),
      'older-than': option('DAYS', numberIn(0, 99_999)),
      'keep-last': option('N', numberIn(0)),
      ...CONFIRMED,
    },
    check({ db: _db, json: _json, yes: _yes, 'dry-run': _dryRun, ...criteria }) {
      if (Object.keys(criteria).length === 0)
        fail('delete needs a criterion, such as --conversation ID or --owner ID')
      const keys = (criteria.tag ?? []).flatMap(Object.keys)
      if (new Set(keys).size < keys.length) fail('two --tag options have the same key: use each key once')
    },
    more: [
      'Deletes each conversation that meets all criteria, with its subagents: their events, snapshots, leases, full-text index entries, and everything that a service stores for them. --before TIME means last changed before TIME; --older-than DAYS means not changed for DAYS days. Needs --yes, or --dry-run, which changes nothing.',
      'With --keep-last, the N most recently changed conversations are kept. With --keep-last or --older-than, conversations with an active run are kept, too.',
    ],
  }),
  erase: command({
    about: 'replace the content of one event of a database with a placeholder',
    input: 'database',
    options: {
      ...NEEDS_STORED,
      event: required(option('EVENT_ID', asText)),
      reason: option('TEXT', asVisible),
      ...CONFIRMED,
    },
    more: [
      'Replaces the texts, files, arguments and reasoning of an event with placeholders. EVENT_ID must be the whole id. The event keeps its position and its references, so the conversation can continue. The log records the erasure, with TEXT as the reason. Copies of the content in forks, summaries and replies are not erased. Needs --yes, or --dry-run, which changes nothing.',
    ],
  }),
  serve: command({
    about: 'serve conversations over HTTP and WebSocket',
    input: 'database',
    options: {
      ...DATABASE,
      host: option('HOST', asText),
      ...PORT,
      agent: option('MODULE', asText),
      workspace: option('DIR', asText),
      memory: option('MIB', numberIn(1, 9_999_999, 'an integer, in mebibytes,')),
      redact: FLAG,
      config: option('FILE', asText),
      'allow-origin': repeated('ORIGIN', asOrigin),
      inspect: FLAG,
      'full-text': FLAG,
    },
    more: [
      'Without --db, the conversations are stored in colloquy.db in the current directory; the file is created if it does not exist.',
      'The defaults are HOST 127.0.0.1 and PORT 8000; PORT 0 selects any free port.',
      'The environment variable COLLOQUY_SESSION_API_KEYS is a list of keys, separated by commas. If it is set, each request needs one of the keys in the header X-Session-API-Key. Otherwise, only this machine has access, and HOST must be a loopback address.',
      'Web pages from any port of this machine may use the service. --allow-origin also allows the pages of an origin such as https://app.example.com, or of every origin with *.',
      'Each sandbox is a process group of this machine with its own folder. For the database x.db, the folders are in x-sandboxes next to x.db; for a postgres:// URL, they are in colloquy-sandboxes, which is in DIR or, without DIR, in the current directory. The first sandbox creates this parent folder. A process in a sandbox has the permissions of the service and ends with the service; the files of the sandbox are kept.',
      'Idle conversations may use about MIB mebibytes of memory; the default is cache_bytes in FILE, or else 256 MiB.',
      'With --redact, API keys, tokens, passwords and private keys are masked in all data written from now on, so agents see them masked, too. They are also masked in public conversations, including older events. The field redact in FILE is a list of "stored" (data written from now on), "public" (public conversations), or both.',
      'With --workspace, clients may create directories below DIR (/api/file/create_directory); DIR must exist.',
      'FILE is a JSON object with the fields sandbox_specs, sandbox_directory (relative to FILE), canvas_extensions (a folder with extensions of the OpenHands web page, which clients may install), sandbox_workspaces (true: clients may use the files of sandboxes and run commands in them), max_sandboxes, webhooks, max_profiles, quota, editor, max_body_bytes, cache_bytes, redact and live. A sandbox spec has the fields id, command, initial_env, working_dir and health; the first spec is the default. Without specs, a sandbox is a working directory in which no process runs. A webhook has the fields url, secret (or secret_env, the name of an environment variable that contains the secret), id, from, kinds, headers, max_batch_events, max_batch_bytes, concurrency, timeout, retry_delay and max_retry_delay. editor has the fields port, token_env and base_path. quota has the fields per_day (maximum number of conversations that an organization may start or fork per UTC day) and exempt (ids of organizations without a quota). live has the fields max_per_conversation, max_total, buffer_chars, write_timeout and heartbeat_interval. Times are in milliseconds.',
      'If the environment variable COLLOQUY_SECRET is set (16 characters or more), API keys of models are stored encrypted. Otherwise, profiles and settings that contain an API key are rejected.',
      'With --full-text, the text of all conversations can be searched (/api/conversations/search-text); if a database has no index, the service creates one in the background.',
      'With --inspect, the page /inspect shows conversations live, event by event. The page asks for a key if the service needs one.',
      'MODULE is a JavaScript or TypeScript file that exports a step function, such as one of colloquy/steps, either as step or as the default export. The file may also export run, an object of run options (condenser, policy, hooks). Without --agent, the agent repeats the user message.',
      'Prints the URL of the service, and writes one line of JSON per request to standard error. On SIGINT and SIGTERM, waits up to 4.5 seconds for requests and runs, then interrupts runs and stops.',
    ],
  }),
  demo: command({
    about: 'replay the sample conversation that ships with colloquy',
    input: 'nothing',
    options: {},
  }),
  help: command({
    about: 'show this page, or the page of a command',
    input: 'nothing',
    operand: 'COMMAND',
    options: {},
  }),
}

export type CommandName = keyof typeof COMMANDS

export type FileCommand = {
  [Name in CommandName]: (typeof COMMANDS)[Name]['input'] extends 'files-or-conversation' ? Name : never
}[CommandName]

export type Options<Name extends CommandName> = Values<(typeof COMMANDS)[Name]['options']>

export type RequestOf<Name extends CommandName> = {
  [Each in Name]: {
    readonly command: Each
    readonly files: readonly string[]
    /** The event id that `why` explains, or the command that `help` describes; null without an operand. */
    readonly operand: string | null
    readonly options: Options<Each>
  }
}[Name]

export type Request = RequestOf<CommandName> | { readonly command: 'version'; readonly options: object }

type AnyCommand = Command<OptionTable>

export const TABLE: Readonly<Record<CommandName, AnyCommand>> = COMMANDS

export const isCommand = (text: string): text is CommandName => Object.hasOwn(COMMANDS, text)

export const printsJson = ({ options }: Request): boolean =>
  ('json' in options && options.json === true) || ('format' in options && options.format === 'json')

export const layoutOf = (options: Pick<Options<'export'>, 'format' | 'output'>): Layout =>
  options.format ?? (/\.zip$/i.test(options.output ?? '') ? 'zip' : 'jsonl')

const COLUMNS = 100

export function helpPage(topic: string | null): string[] {
  if (topic !== null && isCommand(topic)) return commandPage(topic, TABLE[topic])
  const entries = Object.entries(TABLE)
  const columns = Math.max(...entries.map(([name]) => name.length))
  return [
    'colloquy: compute the state, view and messages of an agent’s conversation from its recorded log',
    '',
    'Usage: colloquy COMMAND [FILE…] [OPTIONS]',
    '',
    ...entries.map(([name, { about }]) => `  ${name.padEnd(columns)}  ${about}`),
    '',
    ...ABOUT_FILES,
    ABOUT_DATABASES,
    '',
    'Options:',
    '  --json             prints one JSON object per file or page, each on one line',
    '  --db FILE_OR_URL   reads a database instead of a FILE; --conversation ID selects a conversation',
    '  -h, --help         shows this page, or the page of a command',
    '  -V, --version      shows the version',
    '',
    EXIT_CODES,
  ]
}

function commandPage(name: CommandName, { about, input, options, operand, more = [] }: AnyCommand): string[] {
  const readsFiles = input.startsWith('files')
  const isEither = input.startsWith('files-or')
  const file = operand === undefined ? 'FILE…' : 'FILE'
  const named = input === 'files-or-database' ? '[--conversation ID]' : '--conversation ID'
  const words = [
    ...(isEither ? [`(${file} | --db FILE_OR_URL ${named})`] : readsFiles ? [file] : []),
    ...(operand === undefined ? [] : [`[${operand}]`]),
    ...shownOptions(options, isEither ? ['db', 'conversation'] : []),
  ]
  const lead = `Usage: colloquy ${name} `
  const namesEvent = readsFiles && ('at' in options || 'leaf' in options)
  const paragraphs = [
    ...more,
    ...('leaf' in options ? ['With --leaf, reads only the branch that ends at that event.'] : []),
    ...(namesEvent ? [ABOUT_EVENT_IDS] : []),
    ...('cursor' in options ? ABOUT_PAGES : []),
  ]
  return [
    `colloquy ${name}: ${about}`,
    '',
    ...wrapWords(words, COLUMNS, lead, lead.length),
    ...(paragraphs.length > 0 ? [''] : []),
    ...paragraphs.flatMap((text) => [...wrapWords(text.split(' '), COLUMNS)]),
    ...(input === 'nothing' ? [] : ['']),
    ...(readsFiles ? ABOUT_FILES : []),
    ...(input === 'nothing' ? [] : [ABOUT_DATABASES, '', EXIT_CODES]),
  ]
}

const shownOptions = (options: OptionTable, hidden: readonly string[]): string[] =>
  Object.entries(options)
    .filter(([name]) => !hidden.includes(name))
    .toSorted(([, a], [, b]) => Number(b.isRequired === true) - Number(a.isRequired === true))
    .map(([name, { isRequired, isRepeated }]) => {
      const text = shownOption(options, name)
      return isRequired === true ? text : `[${text}]${isRepeated === true ? '…' : ''}`
    })

export const shownOption = (options: OptionTable, name: string): string =>
  `--${name} ${options[name]?.value ?? ''}`.trimEnd()

const ABOUT_EVENT_IDS =
  'EVENT_ID can be shortened to a prefix that no other id has; a number that is not a prefix of an id is a line number.'

const ABOUT_PAGES = [
  `N, the size of a page, is 1 to ${MAX_PAGE_SIZE}. CURSOR is printed at the end of the previous page.`,
  'With --json, prints one object {"items","cursor"} on one line.',
]

const ABOUT_FILES = [
  'FILE is a .jsonl file with one event per line, a .json file with an array of events, a directory',
  'of event-NNNNN-<id>.json files, a zip of such a directory, or - for standard input. It can also be a',
  'session of another agent, or messages in a provider’s format. FORM (detected by default) is one of',
  `${FROM.slice(0, 6).join(', ')},`,
  `${FROM.slice(6).join(', ')}.`,
]

const ABOUT_DATABASES = 'FILE_OR_URL is a SQLite file, or a postgres:// URL (which needs the package pg).'

const EXIT_CODES = 'Exit code: 0 for success, 1 for a problem in the data, 2 for wrong usage.'
