/** The README's example of the service is run as it stands there. */

import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const ENTRIES = {
  colloquy: 'index.ts',
  'colloquy/service': 'service/index.ts',
  'colloquy/service/node': 'service/node/index.ts',
}

const section = readFileSync(join(ROOT, 'README.md'), 'utf8')
  .split(/^## /m)
  .find((text) => text.startsWith('Serve it'))
const file = join(ROOT, 'test/service', `readme-${process.pid}.mts`)
afterAll(() => rmSync(file, { force: true }))

it('gives what stands beside its lines', async () => {
  let program = /```ts\n([^]*?)```/.exec(section ?? '')?.[1] ?? ''
  for (const [name, path] of Object.entries(ENTRIES)) {
    program = program.replace(`from '${name}'`, `from ${JSON.stringify(join(ROOT, 'src', path))}`)
  }
  const shown: string[] = []
  program = program.replaceAll(/^(\S.*) \/\/ '(.*)'$/gm, (_, value: string, result: string) => {
    shown.push(result)
    return `console.log(${value})`
  })
  writeFileSync(file, program)
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [file])
  expect(shown).toHaveLength(2)
  expect(stdout.trim().split('\n')).toEqual(shown)
  expect(stderr).toBe('')
})
