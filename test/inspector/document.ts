import type { LogDocument } from '../../src/inspector/log-document.ts'

/** A document with only a log: no file, parent, note or finding. */
export const documentOf = (facts: LogDocument['facts'], title = 'log'): LogDocument => ({
  title,
  conversation: title,
  name: title,
  parent: null,
  call: null,
  lines: null,
  issues: [],
  notes: [],
  findings: null,
  facts,
})
