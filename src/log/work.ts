/** Counts the fold's units of work, so that tests can bound the cost of an event at any log length. */

/** Totals of the process: `slots` copied in persistent structures, `units` visited, index `probes`. */
export const work = { slots: 0, units: 0, probes: 0 }
