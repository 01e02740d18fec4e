/** What `check --laws` finds in a recording: each violation with the line that a person looks for. */

import { checkLog, type LawViolation } from '../../laws/index.ts'
import type { LawRequest } from '../args/request.ts'
import { type Recording, titleOf } from '../input/recording.ts'
import { inLines } from '../print/lines.ts'
import { hideSecrets } from '../print/text.ts'

/** A violation at its line. */
export interface Finding extends Pick<LawViolation, 'law' | 'id' | 'message'> {
  /** The line of the file; in a database the position plus 1. */
  readonly line: number
}

/** A recording that was held to the laws. */
export interface Judged {
  readonly recording: Pick<Recording, 'file' | 'conversation' | 'form'>
  readonly title: string
  readonly events: number
  readonly findings: readonly Finding[]
}

/** Holds a recording to the laws. */
export function judge(recording: Recording, { ended, grammars }: LawRequest): Judged {
  const { file, conversation, form, lines, loaded } = recording
  const found = checkLog(loaded, { ended, grammars, ...(conversation && { conversationId: conversation }) })
  const findings = found.map(({ law, id, seq, message }) => ({
    law,
    line: lines[seq] ?? 0,
    id,
    message: hideSecrets(inLines(message, lines)),
  }))
  return {
    recording: { file, conversation, form },
    title: titleOf(recording),
    events: lines.length,
    findings,
  }
}

/** The findings of each law that is broken, in the order of their first. */
export function byLaw(findings: readonly Finding[]): ReadonlyMap<string, readonly Finding[]> {
  const groups = new Map<string, Finding[]>()
  for (const finding of findings) {
    const group = groups.get(finding.law)
    if (group === undefined) groups.set(finding.law, [finding])
    else group.push(finding)
  }
  return groups
}
