/** The checks of a whole log, most helpful messages first. Each throws LawBroken. */

import type { Fact } from '../../src/event/quarantine.ts'
import { checkCondensing, checkFit } from './context.ts'
import { checkPrefix } from './grows.ts'
import { checkGrammars, checkNeutral, checkThinking, checkWords } from './messages.ts'
import { checkParts } from './parts.ts'
import { checkPairing } from './pairing.ts'
import { checkWire } from './prefix.ts'
import { checkReplay } from './replay.ts'
import { checkShown } from './secrets.ts'
import { checkMarks, checkMasked, checkStable } from './sent.ts'
import { checkOneSnapshot } from './snapshot.ts'
import { checkTree } from './tree.ts'
import { checkUnits, checkViews } from './view.ts'

export const LOG_CHECKS: readonly ((facts: readonly Fact[]) => void)[] = [
  checkWire,
  checkTree,
  checkViews,
  checkPairing,
  checkUnits,
  checkReplay,
  checkNeutral,
  checkWords,
  checkThinking,
  checkPrefix,
  checkGrammars,
  checkParts,
  checkShown,
  checkOneSnapshot,
  (facts) => checkCondensing(facts),
  (facts) => checkFit(facts),
  checkStable,
  checkMasked,
  checkMarks,
]
