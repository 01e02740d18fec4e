/** The content that results show of observations, kind by kind (group M of the inventory). */

import { describe, expect, it } from 'vitest'
import type { Content, Observation } from '../../src/event/shapes.ts'
import { observationContent } from '../../src/messages/results.ts'
import { image, text } from '../build.ts'

const PNG = 'iVBORw0KGgoAAAAN'
const ERROR = text('[An error occurred during execution.]')

const shown = (kind: string, fields: Omit<Observation, 'kind'>): Content[] =>
  observationContent({ kind, ...fields })

describe('any observation', () => {
  it('is shown by its content, whatever its kind', () => {
    const content = [text('a'), image('https://x.org/a.png'), text('')]
    for (const kind of ['MCPToolObservation', 'MyOwn', 'toString', '__proto__', 'constructor']) {
      expect(shown(kind, { content })).toEqual(content)
    }
    expect(shown('MyOwn', {})).toEqual([])
  })

  it('that is an error leads with one line that says so', () => {
    expect(shown('MyOwn', { content: [text('a')], is_error: true })).toEqual([ERROR, text('a')])
    expect(shown('MyOwn', { is_error: true })).toEqual([ERROR])
    expect(shown('MyOwn', { content: [text('a')], is_error: false })).toEqual([text('a')])
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

  it('is one text with what the metadata say', () => {
    expect(shown('TerminalObservation', { command: 'ls', content: [text('out')], metadata })).toEqual([
      text(
        '[below]\nout\n[done]\n[Current working directory: /w]\n[Python interpreter: /usr/bin/python]\n[Command finished with exit code 0]',
      ),
    ])
  })

  it('says nothing of an exit code of -1 and of what is absent', () => {
    expect(
      shown('TerminalObservation', {
        content: [text('out')],
        metadata: { exit_code: -1, working_dir: null },
      }),
    ).toEqual([text('out')])
    expect(shown('TerminalObservation', { content: [], metadata: { exit_code: 127 } })).toEqual([
      text('[Command finished with exit code 127]'),
    ])
    expect(shown('TerminalObservation', {})).toEqual([])
  })

  it('takes hostile metadata as none', () => {
    for (const hostile of [
      null,
      7,
      'x',
      [],
      { prefix: 3, exit_code: 'zero', working_dir: {} },
      { exit_code: Number.NaN },
    ]) {
      expect(shown('TerminalObservation', { content: [text('out')], metadata: hostile })).toEqual([
        text('out'),
      ])
    }
  })

  it('keeps images, the mark of a cached prefix, and the leading error line', () => {
    const content: Content[] = [{ ...text('a'), cache_prompt: true }, image('u'), text('b')]
    expect(shown('TerminalObservation', { content, is_error: true })).toEqual([
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
  ])('shows its screenshot as %s', (type, screenshot_data) => {
    expect(shown('BrowserObservation', { content: [text('page')], screenshot_data })).toEqual([
      text('page'),
      image(`data:${type};base64,${screenshot_data}`),
    ])
  })

  it('takes a screenshot that is a data URL as it is, and none for none', () => {
    const url = `data:image/png;base64,${PNG}`
    expect(shown('BrowserObservation', { screenshot_data: url })).toEqual([image(url)])
    for (const none of [null, undefined, '', 7]) {
      expect(shown('BrowserObservation', { content: [text('page')], screenshot_data: none })).toEqual([
        text('page'),
      ])
    }
  })

  it('writes no file, though it names a folder', () => {
    expect(shown('BrowserObservation', { content: [text('page')], full_output_save_dir: '/tmp/x' })).toEqual([
      text('page'),
    ])
  })
})

describe('other kinds', () => {
  it('TaskObservation says which task it was', () => {
    expect(
      shown('TaskObservation', {
        task_id: 't1',
        subagent: 'bash',
        status: 'completed',
        content: [text('ok')],
        is_error: true,
      }),
    ).toEqual([ERROR, text('[Task t1, subagent bash, status completed]'), text('ok')])
  })

  it('SleeptimeComputeObservation shows its message where its content says nothing', () => {
    expect(shown('SleeptimeComputeObservation', { message: 'slept' })).toEqual([text('slept')])
    expect(shown('SleeptimeComputeObservation', { message: 'slept', content: [text('c')] })).toEqual([
      text('c'),
    ])
    expect(shown('SleeptimeComputeObservation', { content: [text(' ')] })).toEqual([text(' ')])
  })
})
