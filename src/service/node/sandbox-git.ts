/** Runs git in a folder of a sandbox, without what the folder's own settings would make it run. */

import { execFile } from 'node:child_process'

/** Characters of what it says. */
const MOST = 2 ** 26
const LONGEST_MILLISECONDS = 30_000

/** What a folder's own settings may make git run, turned off. */
const HARMLESS = [
  'core.fsmonitor=false',
  'core.hooksPath=/dev/null',
  'core.pager=cat',
  'protocol.allow=never',
].flatMap((one) => ['-c', one])

/**
 * Null where git refuses. A diff passes files through no filter of the folder: a file that one would have changed
 * counts as it is.
 *
 * @param root no repository is looked for in it or above it
 */
export async function gitIn(root: string, folder: string, args: readonly string[]): Promise<string | null> {
  const run = (some: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<Said> => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_TERMINAL_PROMPT: '0',
      GIT_OPTIONAL_LOCKS: '0',
      GIT_CEILING_DIRECTORIES: root,
      ...more,
    }
    return new Promise((resolve) => {
      const options = { cwd: folder, env, maxBuffer: MOST, timeout: LONGEST_MILLISECONDS }
      execFile('git', [...HARMLESS, ...some], options, (error, out) =>
        resolve({ out, code: error === null ? 0 : (error.code ?? null) }),
      )
    })
  }
  let off = {}
  if (args[0] === 'diff') {
    const { out, code } = await run(['config', '-z', '--name-only', '--get-regexp', '^filter\\.'])
    // 1: there are none.
    if (code !== 0 && code !== 1) return null
    off = withoutFilters(out.split('\u0000'))
  }
  const { out, code } = await run(args, off)
  return code === 0 ? out : null
}

interface Said {
  readonly out: string
  /** What it ended with; something else where it was ended. */
  readonly code: string | number | null
}

/** Settings by the environment, which come before those of files. */
function withoutFilters(names: readonly string[]): Readonly<Record<string, string>> {
  const drivers = new Set(names.flatMap((name) => /^(filter\.[^]+)\.\w+$/.exec(name)?.[1] ?? []))
  const settings = [...drivers].flatMap((driver) => [
    [`${driver}.clean`, ''],
    [`${driver}.process`, ''],
    [`${driver}.required`, 'false'],
  ])
  return Object.fromEntries([
    ['GIT_CONFIG_COUNT', String(settings.length)],
    ...settings.flatMap(([key = '', value = ''], at) => [
      [`GIT_CONFIG_KEY_${at}`, key],
      [`GIT_CONFIG_VALUE_${at}`, value],
    ]),
  ])
}
