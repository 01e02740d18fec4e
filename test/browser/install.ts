/** Installs missing requirements of the browser tests: packages, Chromium, and the official web page. */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findBrowser } from './find-browser.ts'

const HERE = import.meta.dirname

/**
 * The published web page of the agent servers whose interface the service implements. Its package contains all
 * files that a browser loads, so its dependencies are not installed.
 */
const CANVAS = {
  name: '@openhands/agent-canvas',
  version: '1.20.0',
  integrity:
    'sha512-uq28bmdMapsDN0ltp5ZHYm9xfuk7cHktNkd0NY38w/UTq25wJTqSKSPya+2+ky0+HpGX2vmn0uF3mHuNCoOb2w==',
}

export const CANVAS_FOLDER = join(HERE, 'node_modules', CANVAS.name)

/** @throws Error that names the failed installation. */
export function install(): void {
  installPackages()
  installBrowser()
  installCanvas()
}

function run(command: string, args: readonly string[], cwd = HERE): string {
  const { status, stdout, stderr, error } = spawnSync(command, [...args], { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${error?.message ?? stderr}`)
  return stdout
}

function installPackages(): void {
  const lock = readFileSync(join(HERE, 'package-lock.json'), 'utf8')
  const marker = join(HERE, 'node_modules', '.installed-lock')
  if (existsSync(marker) && readFileSync(marker, 'utf8') === lock) return
  run('npm', ['ci', '--no-audit', '--no-fund'])
  cpSync(join(HERE, 'package-lock.json'), marker)
}

function installBrowser(): void {
  if (findBrowser() !== null) return
  if (process.getuid?.() !== 0)
    throw new Error('no Chromium here, and only root can install it: apt-get install chromium')
  run('apt-get', ['update', '-q'])
  run('apt-get', ['install', '-q', '-y', '--no-install-recommends', 'chromium'])
}

function installCanvas(): void {
  const { name, version, integrity } = CANVAS
  const manifest = join(CANVAS_FOLDER, 'package.json')
  if (existsSync(manifest) && JSON.parse(readFileSync(manifest, 'utf8')).version === version) return
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-canvas-'))
  try {
    const file = join(folder, run('npm', ['pack', `${name}@${version}`, '--silent'], folder).trim())
    const digest = createHash('sha512').update(readFileSync(file)).digest('base64')
    if (`sha512-${digest}` !== integrity)
      throw new Error(`${name}@${version} does not have the expected digest`)
    rmSync(CANVAS_FOLDER, { recursive: true, force: true })
    mkdirSync(CANVAS_FOLDER, { recursive: true })
    run('tar', ['xzf', file, '--strip-components=1', '-C', CANVAS_FOLDER])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
