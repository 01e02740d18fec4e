import { CONTEXT_FAULTS } from './context.ts'
import { EVENT_FAULTS } from './event.ts'
import { EXECUTION_FAULTS } from './execution.ts'
import type { Fault } from './fault.ts'
import { LOG_FAULTS } from './log.ts'
import { MESSAGES_FAULTS } from './messages.ts'
import { READERS_FAULTS } from './readers.ts'
import { REDACTION_FAULTS } from './redaction.ts'
import { SNAPSHOT_FAULTS } from './snapshot.ts'
import { STATE_FAULTS } from './state.ts'
import { STEPS_FAULTS } from './steps.ts'
import { STUCK_FAULTS } from './stuck.ts'
import { VIEW_FAULTS } from './view.ts'

export const FAULTS: readonly Fault[] = [
  ...EVENT_FAULTS,
  ...LOG_FAULTS,
  ...VIEW_FAULTS,
  ...STATE_FAULTS,
  ...SNAPSHOT_FAULTS,
  ...MESSAGES_FAULTS,
  ...CONTEXT_FAULTS,
  ...STUCK_FAULTS,
  ...REDACTION_FAULTS,
  ...EXECUTION_FAULTS,
  ...STEPS_FAULTS,
  ...READERS_FAULTS,
]
