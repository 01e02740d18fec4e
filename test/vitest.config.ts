/** Runs every file of test/ and properties/, and counts the tests for the last line of .ci/run. */

import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/**
 * Files that run in their own process: they inspect or change process-wide state, kill processes, or create so
 * much garbage that sharing a heap costs more than reading src/ again.
 */
const ALONE = [
  'test/{changes,chat-example,cost,docs,examples,growth,imports,linear,package,portable}.test.ts',
  'test/cli/{identity,concurrent-access,process,recorded-logs,database,zip}.test.ts',
  'test/service/{live-load,process-sandboxes,error-secrets}.test.ts',
  'test/clients/**/*.test.ts',
  'test/conversation/{hooks-shell,hooks-shell-start,kill}.test.ts',
  'test/store/*{crash,processes}.test.ts',
  'test/faults/*.test.ts',
  'properties/{execution,faults/faults}.test.ts',
]

/** Long tests of failing databases and processes, run by `npm run test:bugs` and nightly. */
const SOAKS = [
  'test/store/{postgres-durable,postgres-faults,postgres-pooler,json-processes}.test.ts',
  'test/service/soak.test.ts',
]
const isLong = process.env['COLLOQUY_FAULTS'] === 'all' || process.env['COLLOQUY_COUNTS'] !== undefined
const LEFT_OUT = isLong ? [] : SOAKS

/**
 * Most code of a test runs only for a moment: optimizing it a second time costs more than it saves, and so do
 * threads that collect garbage for a heap of this size.
 */
const ENGINE = ['--max-opt=2', '--single-threaded-gc', '--min-semi-space-size=16', '--max-semi-space-size=64']

/** One seed for all files, and timeouts that only hanging tests reach, even on a busy machine. */
const EACH = {
  execArgv: ENGINE,
  setupFiles: ['test/seed.ts', 'test/property-failures.ts'],
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 300_000 } },
}

/** The results that are counted. */
const REPORT = process.env['COLLOQUY_REPORT'] ?? 'node_modules/.cache/colloquy/tests.json'

// Child processes spend most of their time on reading src/, which is the same for all.
process.env['NODE_COMPILE_CACHE'] ??= resolve(import.meta.dirname, '../node_modules/.cache/colloquy/compiled')

// The compiler of the type tests, a Go program, spends at least a quarter of its time on garbage.
process.env['GOGC'] ??= '400'

export default defineConfig({
  test: {
    globalSetup: ['test/postgres/setup.ts', 'test/built.ts'],
    // The default on two processors is one worker, which leaves half the machine idle.
    maxWorkers: 2,
    reporters: ['default', ['json', { outputFile: REPORT }]],
    projects: [
      { test: { ...EACH, name: 'alone', include: ALONE, exclude: LEFT_OUT } },
      // All other files share processes: reading src/ again costs more than most of them do.
      {
        test: {
          ...EACH,
          name: 'shared',
          include: ['test/**/*.test.ts', 'properties/**/*.test.ts'],
          exclude: [...ALONE, ...LEFT_OUT, 'test/{browser,runtimes}/**'],
          isolate: false,
        },
      },
    ],
  },
})
