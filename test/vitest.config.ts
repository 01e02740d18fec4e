/** How the tests run: every file of test/ and properties/, counted for the last line of .ci/run. */

import { resolve } from 'node:path'
import { defineConfig } from 'vitest/config'

/**
 * Files that look at what belongs to a whole process, or change it, kill others, or make so much garbage that the heap of all
 * before them would cost them more than reading src/ again: each runs in a process of its own.
 */
const ALONE = [
  'test/{changes,chat-example,cost,docs,examples,growth,imports,linear,package,portable,readme}.test.ts',
  'test/cli/{identity,permission,process,recorded,stored,zip}.test.ts',
  'test/service/{live-load,process-sandboxes,refusal}.test.ts',
  'test/clients/**/*.test.ts',
  'test/conversation/{hooks-shell,hooks-shell-start,kill}.test.ts',
  'test/store/*{crash,processes}.test.ts',
  'properties/{execution,faults/faults}.test.ts',
]

/** Databases and processes that fail, at length: `npm run test:faults` and the night run them. */
const SOAKS = [
  'test/store/{postgres-durable,postgres-faults,postgres-pooler,json-processes}.test.ts',
  'test/service/soak.test.ts',
]
const isLong = process.env['COLLOQUY_FAULTS'] === 'all' || process.env['COLLOQUY_COUNTS'] !== undefined
const LEFT_OUT = isLong ? [] : SOAKS

/** For each file: one seed for all, and what ends a test that hangs; a busy machine makes none fail. */
const EACH = {
  setupFiles: ['test/seed.ts', 'test/property-failures.ts'],
  testTimeout: 600_000,
  hookTimeout: 600_000,
  expect: { poll: { timeout: 300_000 } },
}

/** Where the results are counted from. */
const REPORT = process.env['COLLOQUY_REPORT'] ?? 'node_modules/.cache/colloquy/tests.json'

// Most of what a child process costs is the reading of src/, and all children read the same.
process.env['NODE_COMPILE_CACHE'] ??= resolve(import.meta.dirname, '../node_modules/.cache/colloquy/compiled')

export default defineConfig({
  test: {
    globalSetup: ['test/postgres/setup.ts', 'test/built.ts'],
    // On two processors the default is one worker, which leaves half the machine idle.
    maxWorkers: 2,
    reporters: ['default', ['json', { outputFile: REPORT }]],
    projects: [
      { test: { ...EACH, name: 'alone', include: ALONE, exclude: LEFT_OUT } },
      // All others share processes: reading src/ again for each costs more than most of them do.
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
