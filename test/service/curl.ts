/** Replaces curl for the service page's commands on machines without it. */

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Supports `-X` and `-d`, and prints the response as it arrives. */
const PROGRAM = `#!${process.execPath}
const options = { urls: [] }
for (let index = 2; index < process.argv.length; index += 1) {
  const argument = process.argv[index]
  if (argument === '-X') options.method = process.argv[(index += 1)]
  else if (argument === '-d') options.body = process.argv[(index += 1)]
  else if (!/^-[sN]+$/.test(argument)) options.urls.push(argument)
}
const response = await fetch(options.urls[0], { method: options.method ?? (options.body ? 'POST' : 'GET'), body: options.body })
for await (const chunk of response.body ?? []) process.stdout.write(chunk)
`

/** Returns a shell environment that has curl or the replacement. */
export function withCurl(folder: string): NodeJS.ProcessEnv {
  const missing = spawnSync('curl', ['--version']).error !== undefined
  if (!missing && process.env['COLLOQUY_NO_CURL'] === undefined) return process.env
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(join(bin, 'package.json'), '{"type":"module"}')
  writeFileSync(join(bin, 'curl'), PROGRAM)
  chmodSync(join(bin, 'curl'), 0o755)
  return { ...process.env, PATH: `${bin}${delimiter}${process.env['PATH']}` }
}
