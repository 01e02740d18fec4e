import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/browser/**/*.test.ts'],
    fileParallelism: false,
    // Long enough for a busy machine: only a hanging test reaches it.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', ['json', { outputFile: 'node_modules/.cache/colloquy/browser-tests.json' }]],
  },
})
