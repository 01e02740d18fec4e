/** I3, I4, P9: pauses and interrupts stop what they should. */

import { replyOf } from '../../src/event/reply.ts'
import type { Event } from '../../src/event/types.ts'
import { pendingCallCount } from '../../src/log/open-calls.ts'
import type { Checkpoint as Entry, State } from '../../src/state/state.ts'
import type { Begin, Story } from '../execution/story.ts'
import { hold, same } from '../../src/testing/failure.ts'
import { lengthOf, entries, yielder, isCutOff, headerBefore } from './story-facts.ts'

/** I3: a pause lasts until someone runs or resumes. */
export function checkPauses(story: Story): void {
  const releases = [
    ...story.runs.map(({ begun }) => begun),
    ...story.done.filter(({ command }) => command.do === 'resume').map(({ begun }) => begun),
  ]
  for (const pause of story.done) {
    if (pause.command.do !== 'pause' || pause.events.length === 0) continue
    const seq = pause.events.at(-1)?.seq ?? 0
    // A resume or another process's run that was starting may follow the pause.
    const resumes = story.done.filter(({ command }) => command.do === 'resume')
    const others = story.runs.flatMap(({ begun, engine }) => {
      const leased = story.leases.find((lease) => lease.engine === engine && lease.checkpoint > begun)
      return engine === pause.engine ? [] : [{ begun, checkpoint: leased?.checkpoint ?? Infinity }]
    })
    if (
      [...resumes, ...others].some(
        ({ begun, checkpoint: index }) => begun < pause.checkpoint && index > pause.begun,
      )
    )
      continue
    const until = Math.min(Infinity, ...releases.filter((index) => index > pause.begun))
    const after = story.begins.filter(({ checkpoint: index }) => index > pause.checkpoint && index < until)
    const laterStep = after.find(({ engine }) => engine === pause.engine)
    hold('I3', laterStep === undefined, `step ${laterStep?.number ?? 0} began after the pause at ${seq}`)
    for (const run of new Set(after.map((begin) => begin.run))) {
      const begun = after.filter((begin) => begin.run === run)
      const [first] = begun
      const leased = story.leases.findLast(
        ({ checkpoint: index, engine }) => engine === first?.engine && index < first.checkpoint,
      )
      // Another process may have been starting this run.
      if (leased === undefined || leased.checkpoint > pause.begun) continue
      hold('I3', begun.length <= 1, `run ${run} began two steps after the pause at ${seq} by another process`)
      const saw = first !== undefined && lengthOf(first.state) > seq
      hold('I3', !saw, `run ${run} continued after it received the pause at ${seq}`)
    }
  }
}

/** I4: an interrupted step produces nothing. P9: no call stays open. */
export function checkInterrupts(story: Story, now: State): void {
  const all = entries(now)
  for (const { seq, event } of all) {
    if (event?.kind !== 'InterruptEvent') continue
    const late = all.find((entry) => {
      const isLate = entry.seq > seq && entry.event !== null && !isCutOff(entry.event)
      const begin = isLate ? yielder(story, entry) : undefined
      return begin !== undefined && lengthOf(begin.state) <= seq
    })
    hold(
      'I4',
      late === undefined,
      `event ${late?.id ?? ''} was appended after the interrupt at ${seq} by an earlier step`,
    )
    let first = seq
    while (all[first - 1]?.event?.kind === 'AgentErrorEvent') first -= 1
    if (headerBefore(now, first).status !== 'running') continue
    const remaining = pendingCallCount(all[seq]?.branch.pendingCalls ?? null)
    hold('P9', remaining === 0, `${remaining} calls are pending after the interrupt at ${seq}`)
  }
}

/** I4: the log has the partial text once, after its interrupt, and nothing else of the step. */
export function checkTextSoFar(story: Story, now: State): void {
  const all = entries(now)
  for (const begin of story.begins) {
    const yielded = all.filter((entry) => yielder(story, entry) === begin)
    const cut = yielded.filter(({ event }) => event !== null && isCutOff(event))
    const from = lengthOf(begin.state)
    const stop = all.findIndex(({ seq, event }) => seq >= from && event?.kind === 'InterruptEvent')
    if (cut.length > 0) {
      hold(
        'I4',
        yielded.length === 1,
        `interrupted step ${begin.number} appended more than its streamed text`,
      )
      const [{ seq, event, header }] = cut as [Entry]
      hold(
        'I4',
        stop >= 0 && stop < seq,
        `the text of step ${begin.number} was appended without an interrupt`,
      )
      same('I4', 'the status after interrupted text', header.status, headerBefore(now, seq).status)
      same(
        'I4',
        'the request position of the interrupted text',
        replyOf(event as Event)?.after,
        begin.state.log.head?.id ?? null,
      )
    }
    if (!begin.silent || begin.streamed === null || stop < 0) continue
    const lost = story.runs[begin.run]?.dead === true || story.ranOut.length > 0
    hold('I4', lost || cut.length === 1, `the streamed text of step ${begin.number} is lost`)
  }
}

export function checkHeard(story: Story): void {
  for (const { command, begun, checkpoint: index, events, outcome } of story.done) {
    if (command.do !== 'interrupt' || events.length > 0 || outcome !== null) continue
    const deaf = story.begins.find((begin) => {
      const dead = story.runs[begin.run]?.dead === true || story.ranOut.some((moment) => moment < index)
      // A step that ignores its signal ends with its run.
      const end = Math.min(begin.end, story.runs[begin.run]?.end ?? 0)
      return !dead && begin.checkpoint < begun && end > index && !aborted(story, begin)
    })
    hold('I4', deaf === undefined, `an interrupt had no effect while step ${deaf?.number ?? 0} was running`)
  }
}

const aborted = (story: Story, { state, run }: Begin): boolean =>
  story.runs[run]?.aborted === true ||
  story.facts.slice(lengthOf(state)).some((fact) => 'kind' in fact && fact.kind === 'InterruptEvent')

/** I4: a step produces nothing after its run loses the lease. */
export function checkLeases(story: Story, now: State): void {
  for (const entry of entries(now)) {
    const begin = yielder(story, entry)
    const lost =
      begin &&
      story.leases.find(({ checkpoint: index, length }) => index > begin.checkpoint && length <= entry.seq)
    hold(
      'I4',
      lost === undefined,
      `event ${entry.id ?? ''} was appended by a run that had lost its lease at ${lost?.length ?? 0}`,
    )
  }
}
