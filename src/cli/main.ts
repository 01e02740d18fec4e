#!/usr/bin/env node
/** The `colloquy` command: checks the runtime before it loads modules that an older one lacks. */

import { isOlder, readPackage } from './package.ts'

const { node } = await readPackage()
if (isOlder(process.versions.node, node)) {
  process.stderr.write(`colloquy needs Node ${node} or newer; this is ${process.versions.node}\n`)
  process.exitCode = 1
} else {
  const { runProcess } = await import('./run.ts')
  await runProcess()
}
