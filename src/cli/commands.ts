/** The table of commands: what each one is called, takes and tells. */

/** The commands that read conversations. */
export type FileCommand = 'check' | 'replay' | 'view' | 'messages' | 'tree'

/** Every command by name. */
export type CommandName = FileCommand | 'demo' | 'help'

/** A flag beside `--help`. */
export type Flag = 'json' | 'at' | 'leaf' | 'format'

/** What `messages` can write. */
export const FORMATS = ['neutral', 'openai-chat', 'openai-responses', 'anthropic', 'ai-sdk'] as const

/** One of the grammars that `messages` writes. */
export type Format = (typeof FORMATS)[number]

/** The facts of one command, for the parser and the help page alike. */
export interface CommandFacts {
  /** What follows the name on the command line. */
  readonly synopsis: string
  readonly about: string
  readonly files: boolean
  readonly flags: readonly Flag[]
  /** What the help page of the command adds. */
  readonly more: readonly string[]
}

export const COMMANDS: Readonly<Record<CommandName, CommandFacts>> = {
  check: {
    synopsis: 'FILE… [--json]',
    about: 'say which events load, and what is wrong with the others',
    files: true,
    flags: ['json'],
    more: ['Exits with 1 when there is an issue.'],
  },
  replay: {
    synopsis: 'FILE… [--at EVENT_ID] [--json]',
    about: 'fold the log into its state: status, HEAD, open calls, what was repaired',
    files: true,
    flags: ['json', 'at'],
    more: [
      'With --at, the state at that event: the branch that it stands on, and the status that the log had then.',
    ],
  },
  view: {
    synopsis: 'FILE… [--leaf EVENT_ID] [--json]',
    about: 'list what the model may see, and where it may be cut',
    files: true,
    flags: ['json', 'leaf'],
    more: ['With --leaf, the view of the branch that ends at that event.'],
  },
  messages: {
    synopsis: 'FILE… [--leaf EVENT_ID] [--format FORMAT] [--json]',
    about: 'write what the model is sent, in a provider’s grammar',
    files: true,
    flags: ['json', 'leaf', 'format'],
    more: [
      `FORMAT is one of ${FORMATS.join(', ')}; the default is neutral.`,
      'With --leaf, the messages of the branch that ends at that event.',
      'Encrypted reasoning is never printed: null stands in its place.',
    ],
  },
  tree: {
    synopsis: 'FILE… [--json]',
    about: 'draw the tree of events, its branches and HEAD',
    files: true,
    flags: ['json'],
    more: [],
  },
  demo: {
    synopsis: '',
    about: 'replay the sample conversation that ships with colloquy',
    files: false,
    flags: [],
    more: [],
  },
  help: {
    synopsis: '[COMMAND]',
    about: 'this page, or the page of a command',
    files: false,
    flags: [],
    more: [],
  },
}

/** Whether a text names a command. */
export function isCommand(text: string): text is CommandName {
  return Object.hasOwn(COMMANDS, text)
}
