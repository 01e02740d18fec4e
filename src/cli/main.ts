#!/usr/bin/env node

import { isOlder, readPackage } from './package.ts'

const { node } = await readPackage()
if (isOlder(process.versions.node, node)) {
  process.stderr.write(`colloquy needs Node ${node} or newer; this is ${process.versions.node}\n`)
  process.exitCode = 1
} else {
  const { runProcess } = await import('./run.ts')
  await runProcess()
}
