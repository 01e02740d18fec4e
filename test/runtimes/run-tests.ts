/** Runs a bundle's test files with Vitest itself, as in a browser. */

import { startTests } from 'vitest/internal/browser'
import type { VitestRunner } from 'vitest/runtime'
import { TEST_FILES } from './bundled-tests.ts'

/** Outcome of one file. */
export interface Outcome {
  readonly file: string
  readonly passed: number
  /** Tests that did not pass, with their reasons. */
  readonly failed: readonly string[]
}

const MINUTES = 60_000

const config = {
  root: '/',
  name: '',
  setupFiles: [],
  sequence: { hooks: 'stack', setupFiles: 'list' },
  maxConcurrency: 1,
  testTimeout: 10 * MINUTES,
  hookTimeout: 10 * MINUTES,
  retry: 0,
  tags: [],
  taskTitleValueFormatTruncate: 40,
}

type Task = Awaited<ReturnType<typeof startTests>>[number]['tasks'][number]

/** Runs the files in turn, and yields a line of JSON for each. */
export async function* runTests(): AsyncGenerator<string> {
  // Vitest's worker globals.
  Object.assign(globalThis, { __vitest_worker__: { config, ctx: {}, providedContext: {} } })
  for (const [name, load] of Object.entries(TEST_FILES)) {
    const runner = { config, importFile: load } as unknown as VitestRunner
    const [file] = await startTests([name], runner)
    if (file === undefined) throw new Error(`${name} was not run`)
    const tasks = file.tasks.flatMap(withDescendants)
    const failed = [file, ...tasks].flatMap((task) =>
      (task.result?.errors ?? []).map((error) => `${task.name}: ${text(error)}`),
    )
    const passed = tasks.filter(({ type, result }) => type === 'test' && result?.state === 'pass').length
    yield JSON.stringify({ file: name, passed, failed } satisfies Outcome)
  }
}

interface Thrown {
  readonly message: string
  readonly stack?: string | undefined
  readonly cause?: unknown
}

/** The error and its causes, innermost first. */
function text({ message, stack, cause }: Thrown): string {
  const stackText = (stack ?? message).slice(0, 2_000)
  return typeof cause === 'object' && cause !== null && 'message' in cause
    ? `${text(cause as Thrown)}\ncaused: ${stackText}`
    : stackText
}

/** A task and all tasks in it. */
const withDescendants = (task: Task): Task[] =>
  task.type === 'test' ? [task] : [task, ...task.tasks.flatMap(withDescendants)]
