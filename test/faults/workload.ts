/** Number of processes, and of writers in each. The last writer of each writes under a lease that the processes compete for. */
export const PROCESSES = 6
export const WRITERS_EACH = 4

export const CONVERSATIONS = Array.from({ length: 8 }, (_, index) => `c${index}`)
export const LEASED = 'leased'

export const LEASE_TTL = 250
