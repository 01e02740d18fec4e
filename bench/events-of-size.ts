/** Sizes of the bodies of a measured log. */

import type { MEASURED_MIX } from './workload.ts'

/** Mean sizes of the bodies, by kind, in bytes. */
export type Sizes = Readonly<Record<keyof typeof MEASURED_MIX, number>>

/** Bodies of about one kilobyte each. */
export const ONE_KB: Sizes = { action: 800, observation: 700, systemPrompt: 700, message: 700 }
