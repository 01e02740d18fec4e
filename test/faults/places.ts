/** What the writers of the fault runner share. */

/** Processes, and writers in each: the last one writes under a lease that all processes compete for. */
export const PROCESSES = 6
export const WRITERS_EACH = 4

export const CONVERSATIONS = Array.from({ length: 8 }, (_, index) => `c${index}`)
export const LEASED = 'leased'

/** Milliseconds. */
export const LEASE_TTL = 500
