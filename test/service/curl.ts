/** Replaces curl for the service page's commands on machines without it. */

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Supports `-X` and `-d`, and prints the response as it arrives. */
const PROGRAM = `#!${process.execPath}
const given = { urls: [] }
for (let at = 2; at < process.argv.length; at += 1) {
  const word = process.argv[at]
  if (word === '-X') given.method = process.argv[(at += 1)]
  else if (word === '-d') given.body = process.argv[(at += 1)]
  else if (!/^-[sN]+$/.test(word)) given.urls.push(word)
}
const response = await fetch(given.urls[0], { method: given.method ?? (given.body ? 'POST' : 'GET'), body: given.body })
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
