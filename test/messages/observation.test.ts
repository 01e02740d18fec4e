/** `observationContent`: the content of results for each kind of observation (group M of the inventory). */

import { describe, expect, it } from 'vitest'
import type { Content, Observation } from '../../src/event/shapes.ts'
import { observationContent } from '../../src/messages/results.ts'
import { image, text } from '../build.ts'

const PNG = 'iVBORw0KGgoAAAAN'
const ERROR = text('[An error occurred during execution.]')

const contentOf = (kind: string, fields: Omit<Observation, 'kind'>): Content[] =>
  observationContent({ kind, ...fields })

describe('any observation', () => {
  it('shows its content, whatever its kind', () => {
    const content = [text('a'), image('https://x.org/a.png'), text('')]
    for (const kind of ['MCPToolObservation', 'MyOwn', 'toString', '__proto__', 'constructor']) {
      expect(contentOf(kind, { content })).toEqual(content)
    }
    expect(contentOf('MyOwn', {})).toEqual([])
  })

  it('starts with an error line when it is an error', () => {
    expect(contentOf('MyOwn', { content: [text('a')], is_error: true })).toEqual([ERROR, text('a')])
    expect(contentOf('MyOwn', { is_error: true })).toEqual([ERROR])
    expect(contentOf('MyOwn', { content: [text('a')], is_error: false })).toEqual([text('a')])
  })
})

describe('TerminalObservation', () => {
  const metadata = {
    prefix: '[below]\n',
    suffix: '\n[done]',
    working_dir: '/w',
    py_interpreter_path: '/usr/bin/python',
    exit_code: 0,
  }

  it('is one text that includes the metadata', () => {
    expect(contentOf('TerminalObservation', { command: 'ls', content: [text('out')], metadata })).toEqual([
      text(
        '[below]\nout\n[done]\n[Current working directory: /w]\n[Python interpreter: /usr/bin/python]\n[Command finished with exit code 0]',
      ),
    ])
  })

  it('omits an exit code of -1 and absent fields', () => {
    expect(
      contentOf('TerminalObservation', {
        content: [text('out')],
        metadata: { exit_code: -1, working_dir: null },
      }),
    ).toEqual([text('out')])
    expect(contentOf('TerminalObservation', { content: [], metadata: { exit_code: 127 } })).toEqual([
      text('[Command finished with exit code 127]'),
    ])
    expect(contentOf('TerminalObservation', {})).toEqual([])
  })

  it('ignores invalid metadata', () => {
    for (const hostile of [
      null,
      7,
      'x',
      [],
      { prefix: 3, exit_code: 'zero', working_dir: {} },
      { exit_code: Number.NaN },
    ]) {
      expect(contentOf('TerminalObservation', { content: [text('out')], metadata: hostile })).toEqual([
        text('out'),
      ])
    }
  })

  it('keeps images, the cache flag and the error line', () => {
    const content: Content[] = [{ ...text('a'), cache_prompt: true }, image('u'), text('b')]
    expect(contentOf('TerminalObservation', { content, is_error: true })).toEqual([
      ERROR,
      { ...text('a\nb'), cache_prompt: true },
      image('u'),
    ])
  })
})

describe('BrowserObservation', () => {
  it.each([
    ['image/png', PNG],
    ['image/jpeg', '/9j/AAAA'],
    ['image/gif', 'R0lGODlh'],
    ['image/webp', 'UklGRgAAAABXRUJQ'],
    ['image/png', 'AAAA'],
  ])('shows its screenshot as %s: %s', (type, screenshot_data) => {
    expect(contentOf('BrowserObservation', { content: [text('page')], screenshot_data })).toEqual([
      text('page'),
      image(`data:${type};base64,${screenshot_data}`),
    ])
  })

  it('keeps a screenshot that is a data URL, and ignores an invalid one', () => {
    const url = `data:image/png;base64,${PNG}`
    expect(contentOf('BrowserObservation', { screenshot_data: url })).toEqual([image(url)])
    for (const invalid of [null, undefined, '', 7]) {
      expect(contentOf('BrowserObservation', { content: [text('page')], screenshot_data: invalid })).toEqual([
        text('page'),
      ])
    }
  })

  it('ignores `full_output_save_dir`', () => {
    expect(
      contentOf('BrowserObservation', { content: [text('page')], full_output_save_dir: '/tmp/x' }),
    ).toEqual([text('page')])
  })
})

describe('other kinds', () => {
  it('TaskObservation names its task, subagent and status', () => {
    expect(
      contentOf('TaskObservation', {
        task_id: 't1',
        subagent: 'bash',
        status: 'completed',
        content: [text('ok')],
        is_error: true,
      }),
    ).toEqual([ERROR, text('[Task t1, subagent bash, status completed]'), text('ok')])
  })

  it('SleeptimeComputeObservation shows its message when it has no content', () => {
    expect(contentOf('SleeptimeComputeObservation', { message: 'slept' })).toEqual([text('slept')])
    expect(contentOf('SleeptimeComputeObservation', { message: 'slept', content: [text('c')] })).toEqual([
      text('c'),
    ])
    expect(contentOf('SleeptimeComputeObservation', { content: [text(' ')] })).toEqual([text(' ')])
  })
})
