/** The first finding of a log with one of the field's mistakes names it; a log without it gives no such finding. */

import { describe, expect, it } from 'vitest'
import { findings } from '../../src/explain/findings.ts'
import { replay } from '../../src/state/reduce.ts'
import { FIELD_BUGS } from './field-bugs.ts'

describe('the mistakes of the field', () => {
  it.each(FIELD_BUGS)('$name', ({ log, healthy, kind, says, ids }) => {
    const [first] = findings(log)
    expect(first).toMatchObject({ kind, ids })
    expect(first?.text).toMatch(says)
    expect(findings(replay(log))).toEqual(findings(log))
    expect(findings(healthy).filter((one) => one.severity !== 'note')).toEqual([])
    expect(findings(healthy).filter((one) => one.kind === kind)).toEqual([])
  })
})
