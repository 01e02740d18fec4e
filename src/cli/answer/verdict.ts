/**
 * The exit code of `check`, so that it can stand in a script: 1 for a line that does not load, with `--laws` for a
 * broken law too.
 */

import type { Recording } from '../input/recording.ts'
import { breachesOf } from '../show/repairs.ts'

export const verdictOn = (recording: Recording, laws: boolean): number =>
  recording.issues.length > 0 || (laws && breachesOf(recording).length > 0) ? 1 : 0
