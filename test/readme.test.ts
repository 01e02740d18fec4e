/** The README's example of a live conversation is run as it stands there. */

import { execFile } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
const section = readFileSync(join(ROOT, 'README.md'), 'utf8')
  .split(/^## /m)
  .find((text) => text.startsWith('Live conversations'))
const code = /```ts\n([^]*?)```/.exec(section ?? '')?.[1] ?? ''

/** In the repository, so that the package finds itself by its own name. */
const file = join(ROOT, 'test', `readme-${process.pid}.mts`)
afterAll(() => rmSync(file, { force: true }))

describe('the README on live conversations', () => {
  it('has an example', () => {
    expect(code).toContain("from 'colloquy'")
    expect(section?.split('\n').length).toBeLessThanOrEqual(42)
  })

  it('whose lines give what stands beside them', async () => {
    const source = { colloquy: 'index.ts', 'colloquy/shell': 'conversation/shell/index.ts' }
    let program = code
    for (const [name, path] of Object.entries(source)) {
      program = program.replace(`from '${name}'`, `from ${JSON.stringify(join(ROOT, 'src', path))}`)
    }
    const shown: string[] = []
    program = program.replaceAll(/^(\w+) \/\/ '(.*)'$/gm, (_, value: string, result: string) => {
      shown.push(result)
      return `console.log(${value})`
    })
    writeFileSync(file, program)
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file])
    expect(shown.length).toBeGreaterThan(0)
    expect(stdout.trim().split('\n')).toEqual(shown)
    expect(stderr).toBe('')
  })
})
