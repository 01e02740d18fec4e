/** Processes, and writers in each. The last writer of each needs a lease that all processes compete for. */
export const PROCESSES = 6
export const WRITERS_EACH = 4

export const CONVERSATIONS = Array.from({ length: 8 }, (_, index) => `c${index}`)
export const LEASED = 'leased'

export const LEASE_TTL = 500
