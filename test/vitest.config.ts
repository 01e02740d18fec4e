/** How the tests run: every file of test/ and properties/, counted for the last line of .ci/run. */

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts', 'properties/**/*.test.ts'],
    globalSetup: ['test/postgres/setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', ['json', { outputFile: 'node_modules/.cache/colloquy/tests.json' }]],
  },
})
