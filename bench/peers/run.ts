/** Installs the contenders' packages when missing, then measures: `npm run bench:peers -- --help`. */

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const HERE = import.meta.dirname

/** @throws Error if npm fails */
function install(): void {
  const lock = join(HERE, 'package-lock.json')
  const mark = join(HERE, 'node_modules', '.installed-lock')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === readFileSync(lock, 'utf8')) return
  console.error('Installing the packages. Two drivers are compiled if no prebuilt ones are available.')
  const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: HERE, stdio: 'inherit' })
  if (status !== 0) throw new Error('npm ci failed in bench/peers')
  cpSync(lock, mark)
}

install()
const args = ['--expose-gc', join(HERE, 'main.ts'), ...process.argv.slice(2)]
process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1
