import type { MEASURED_MIX } from './workload.ts'

/** Mean body sizes by kind, in bytes. */
export type Sizes = Readonly<Record<keyof typeof MEASURED_MIX, number>>

export const ONE_KB: Sizes = { action: 800, observation: 700, systemPrompt: 700, message: 700 }
