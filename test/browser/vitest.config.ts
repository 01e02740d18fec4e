/** How the tests in a browser run: one file after the other, counted for the last line of .ci/run. */

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    fileParallelism: false,
    // What ends a test that hangs; a busy machine makes none fail.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', ['json', { outputFile: 'node_modules/.cache/colloquy/browser-tests.json' }]],
  },
})
