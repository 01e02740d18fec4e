/** Runs in a copy of the project: checks the laws of events and logs, those closest to the fault first. */

import { LOG_CHECKS } from '../checks/all.ts'
import { checkCondensing, checkFit } from '../checks/context.ts'
import { checkBadLines, checkLine, checkRoundTrip, checkTotal } from '../checks/events.ts'
import { checkGrammars, checkNeutral, checkThinking, checkWords } from '../checks/messages.ts'
import { checkParts } from '../checks/parts.ts'
import { checkPairing } from '../checks/pairing.ts'
import { checkWire } from '../checks/prefix.ts'
import { checkReplay } from '../checks/replay.ts'
import { checkIssues, checkMasking } from '../checks/secrets.ts'
import { checkMarks, checkMasked, checkStable } from '../checks/sent.ts'
import { checkOneSnapshot } from '../checks/snapshot.ts'
import { checkTimeline } from '../checks/timeline.ts'
import { checkTree } from '../checks/tree.ts'
import { checkUIMessages } from '../checks/ui-messages.ts'
import { checkUnits, checkViews } from '../checks/view.ts'
import type { Corpus } from './corpus.ts'
import { sayVerdict } from './say-verdict.ts'

type LogCheck = (typeof LOG_CHECKS)[number]

/** Checks most likely to fail for a folder, longest path first. */
const NEAREST: readonly (readonly [folder: string, checks: readonly LogCheck[]])[] = [
  ['state/snapshot/', [checkOneSnapshot]],
  ['log/columnar/', [checkOneSnapshot]],
  ['log/log.ts', [checkTree, checkReplay, checkOneSnapshot]],
  ['log/', [checkTree, checkPairing, checkReplay]],
  ['view/', [checkViews, checkUnits]],
  ['state/read.ts', [(facts) => checkTimeline(facts)]],
  ['state/', [checkTree, checkViews, checkReplay, checkOneSnapshot]],
  ['messages/timeline.ts', [checkTimeline]],
  ['messages/ui/write.ts', [(facts) => checkUIMessages(facts)]],
  ['messages/', [checkWire, checkNeutral, checkWords, checkThinking, checkParts, checkGrammars]],
  [
    'context/',
    [(facts) => checkFit(facts), checkStable, checkMasked, checkMarks, (facts) => checkCondensing(facts)],
  ],
]

function checkEvents({ events, broken, lines }: Corpus): void {
  for (const line of lines) checkLine(line)
  for (const value of broken) {
    checkIssues(value)
    checkTotal(structuredClone(value))
  }
  for (const event of events) {
    checkRoundTrip(event)
    checkMasking(event)
    checkTotal(structuredClone(event))
  }
}

function checkLogs({ logs }: Corpus, checks: readonly LogCheck[]): void {
  for (const facts of logs) for (const check of checks) check(facts)
}

function checkAll(corpus: Corpus, file = ''): void {
  const nearest = NEAREST.find(([folder]) => file.startsWith(folder))
  if (nearest !== undefined) checkLogs(corpus, nearest[1])
  checkEvents(corpus)
  for (const facts of corpus.logs) checkBadLines(facts, corpus.lines.slice(0, 4))
  checkLogs(corpus, LOG_CHECKS)
}

sayVerdict('R2', (corpus) => checkAll(corpus, process.argv[3]))
