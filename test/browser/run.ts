/** `npm run test:browser`: installs the requirements of the browser tests, then runs vitest with the arguments. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { install } from './install.ts'

const ROOT = join(import.meta.dirname, '../..')

install()
const { status: types } = spawnSync(
  process.execPath,
  [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', join(ROOT, 'test/browser')],
  { stdio: 'inherit' },
)
const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
const args = ['run', '--config', 'test/browser/vitest.config.ts', '--root', '.', ...process.argv.slice(2)]
const { status } = spawnSync(process.execPath, [vitest, ...args], { cwd: ROOT, stdio: 'inherit' })
process.exitCode = types === 0 ? (status ?? 1) : 1
