#!/usr/bin/env node

import { readPackage } from './package.ts'

const { node } = await readPackage()
// Compare number by number, because 22.9 is older than 22.13.
if (process.versions.node.localeCompare(node, 'en', { numeric: true }) < 0) {
  process.stderr.write(`colloquy needs Node ${node} or newer; this is ${process.versions.node}\n`)
  process.exitCode = 1
} else {
  const { runProcess } = await import('./run.ts')
  await runProcess()
}
