/** The run lease: who may run a conversation, and until when. Its generation fences off owners that are stale. */

/** A lease on a conversation. A takeover raises the generation, and an append under an older one is refused. */
export interface Lease {
  readonly conversationId: string
  readonly owner: string
  readonly generation: number
  /** Milliseconds since 1970 on the store's clock. */
  readonly expiresAt: number
}

/** Which leases to list: of all that were not given back, those in the order of their conversations' ids. */
export interface LeaseQuery {
  /** Whether only those that have expired, by the store's clock. Default: false. */
  readonly expired?: boolean
  /** The conversation that the page before ended with; this one begins behind it. */
  readonly after?: string
  /** 1 to 100. Default: 100. */
  readonly limit?: number
}
