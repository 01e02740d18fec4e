import { checkOptionNames } from '../event/check-value.ts'
import { isObject, parseJson } from '../event/json.ts'
import { type Fact, isQuarantined } from '../event/quarantine.ts'
import { factsOf, type ReplaySubject } from './replay.ts'
import { plain } from './text-of.ts'

/** Storage of recordings, for example files. */
export interface GoldenFiles {
  /** Returns the recording, or null if it does not exist. */
  readonly read: (name: string) => string | null | Promise<string | null>
  readonly write: (name: string, text: string) => void | Promise<void>
}

interface Line {
  readonly seq: number
  readonly id: string | null
  readonly kind: string | null
  readonly set?: Readonly<Record<string, unknown>>
  readonly gone?: readonly string[]
}

/**
 * Returns one JSON line for each event, with the event's changes to the result of `project` (default: the
 * state): new values in `set`, removed paths in `gone`.
 */
export function recordReplay<S, Kept = unknown>(
  log: readonly (Fact | string)[],
  subject: ReplaySubject<S, Kept>,
): string {
  const { initial, reduce, project = (state: S): unknown => state, upcast = (fact: Fact) => fact } = subject
  let state = initial
  let before = leavesOf(project(state))
  const lines = factsOf(log).map((loaded, seq) => {
    const fact = upcast(loaded)
    state = reduce(state, fact)
    const after = leavesOf(project(state))
    const set = Object.fromEntries(
      [...after]
        .filter(([path, text]) => before.get(path) !== text)
        .map(([path, text]) => [path, JSON.parse(text)]),
    )
    const gone = [...before.keys()].filter((path) => !after.has(path))
    before = after
    const kind = isQuarantined(fact) ? null : fact.kind
    const line: Line = {
      seq,
      id: fact.id ?? null,
      kind,
      ...(Object.keys(set).length > 0 && { set }),
      ...(gone.length > 0 && { gone }),
    }
    return `${JSON.stringify(line)}\n`
  })
  return lines.join('')
}

/**
 * Folds a log, and compares the changes of the state with a recording, which is written if it is missing or
 * `update` is true. Values that JSON lacks become objects, such as `{ set: [] }`.
 * O(size of the projection) per event.
 * @throws Error with the first event whose changes differ, and the differences; or if the recording is damaged.
 * @example
 * const kept = new Map()
 * const files = { read: (name) => kept.get(name) ?? null, write: (name, text) => void kept.set(name, text) }
 * const subject = { initial: 0, reduce: (count) => count + 1 }
 * await golden('count', [{ kind: 'PauseEvent', id: 'p' }], subject, files)
 * await golden('count', [{ kind: 'PauseEvent', id: 'p' }], subject, files)
 */
export async function golden<S, Kept = unknown>(
  name: string,
  log: readonly (Fact | string)[],
  subject: ReplaySubject<S, Kept>,
  files: GoldenFiles,
  options: { readonly update?: boolean } = {},
): Promise<void> {
  checkOptionNames(options, 'update')
  const now = recordReplay(log, subject)
  const before = options.update === true ? null : await files.read(name)
  if (before === null) {
    await files.write(name, now)
    return
  }
  const difference = differenceOf(linesOf(before, name), linesOf(now, name))
  if (difference !== null) throw new Error(`${name} differs at ${difference}`)
}

const SHOWN = 10

/** Describes how two recordings differ at the first different line; null if they are equal. */
function differenceOf(was: readonly Line[], is: readonly Line[]): string | null {
  for (let seq = 0; seq < Math.max(was.length, is.length); seq += 1) {
    const [old, now] = [was[seq], is[seq]]
    const isSameEvent = old?.id === now?.id && old?.kind === now?.kind
    const [left, right] = [old, now].map((line) => (isSameEvent ? changesOf(line) : nameOf(line)))
    const paths = [...new Set([...Object.keys(left ?? {}), ...Object.keys(right ?? {})])]
    const different = paths.filter((path) => left?.[path] !== right?.[path])
    if (different.length === 0) continue
    const { kind = null, id = null } = now ?? old ?? {}
    const more = different.length > SHOWN ? [`  and ${different.length - SHOWN} more`] : []
    return [
      `position ${seq}, ${kind ?? 'a quarantined line'} ${JSON.stringify(id)}:`,
      ...different.slice(0, SHOWN).map((path) => `  ${path}: ${cut(left?.[path])} -> ${cut(right?.[path])}`),
      ...more,
    ].join('\n')
  }
  return null
}

const cut = (text: string | undefined): string =>
  text === undefined ? 'nothing' : text.length > 120 ? `${text.slice(0, 119)}…` : text

type Changes = Readonly<Record<string, string>>

const nameOf = (line: Line | undefined): Changes =>
  line === undefined ? {} : { 'the event': JSON.stringify([line.kind, line.id]) }

const changesOf = ({ set = {}, gone = [] }: Partial<Line> = {}): Changes =>
  Object.fromEntries([
    ...Object.entries(set).map(([path, value]) => [path, JSON.stringify(value)] as const),
    ...gone.map((path) => [path, 'gone'] as const),
  ])

function linesOf(text: string, name: string): readonly Line[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  return lines.map((line, index) => {
    const value: unknown = parseJson(line)
    if (isObject(value)) return value as object as Line
    throw new Error(
      `Line ${index + 1} of the recording ${name} is damaged. Record it again with \`update: true\`.`,
    )
  })
}

function leavesOf(value: unknown): ReadonlyMap<string, string> {
  const leaves = new Map<string, string>()
  const remaining: [string, unknown][] = [['$', plain(value)]]
  for (let next = remaining.pop(); next !== undefined; next = remaining.pop()) {
    const [path, inner] = next
    const entries = typeof inner === 'object' && inner !== null ? Object.entries(inner) : []
    if (entries.length === 0) leaves.set(path, JSON.stringify(inner))
    for (const [key, below] of entries.toReversed())
      remaining.push([path + stepTo(key, Array.isArray(inner)), below])
  }
  return leaves
}

const stepTo = (key: string, isIndex: boolean): string =>
  isIndex ? `[${key}]` : /^[A-Za-z_]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
