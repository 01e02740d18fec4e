/** Every deliberate fault, in the order of the folders. */

import { EVENT_FAULTS } from './event.ts'
import type { Fault } from './fault.ts'
import { LOG_FAULTS } from './log.ts'
import { MESSAGES_FAULTS } from './messages.ts'
import { STATE_FAULTS } from './state.ts'
import { VIEW_FAULTS } from './view.ts'

export const FAULTS: readonly Fault[] = [
  ...EVENT_FAULTS,
  ...LOG_FAULTS,
  ...VIEW_FAULTS,
  ...STATE_FAULTS,
  ...MESSAGES_FAULTS,
]
