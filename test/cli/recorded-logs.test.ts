/** Every command accepts every recorded log, if the logs are available. */

import { describe, expect, it } from 'vitest'
import { FORMATS } from '../../src/cli/commands.ts'
import { recordedLogs } from '../recorded.ts'
import { runJson, colloquy } from './run-command.ts'

const logs = recordedLogs()
const title =
  logs.length > 0 ? 'every recorded log' : 'recorded logs (none here: the folder shared/logs is missing)'

describe.skipIf(logs.length === 0)(title, () => {
  it.each(logs)('every command accepts $file', async ({ file, path }) => {
    for (const command of [
      'check',
      'replay',
      'view',
      'tree',
      'stuck',
      'why',
      ...FORMATS.map((format) => `messages --format ${format}`),
    ]) {
      const argv = [...command.split(' '), path]
      const { code, all, err } = await runJson(argv)
      const bad = command === 'check' && file === 'snippets.jsonl'
      expect({ command, code, err, files: all.map((answer) => answer.file) }).toEqual({
        command,
        code: bad ? 1 : 0,
        err: '',
        files: [path],
      })
      expect(all[0].error ?? null).toEqual(command === 'replay' ? (all[0].error ?? null) : null)
      // All formats are printed alike.
      if (command.startsWith('messages') && !command.endsWith('neutral')) continue
      const printed = await colloquy(argv)
      expect(printed.code).toBe(code)
      expect(printed.out.length).toBeGreaterThan(path.length)
    }
  })

  it('replay accepts all files together', async () => {
    const { code, all } = await runJson(['replay', ...logs.map(({ path }) => path)])
    expect({ code, files: all.map(({ file }) => file) }).toEqual({
      code: 0,
      files: logs.map(({ path }) => path),
    })
  })
})
