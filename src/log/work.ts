/** Counts the fold's units of work, so that tests can bound the cost of an event at any length. */

/**
 * Running totals of the process: `slots` copied inside persistent structures, `units` of a view visited, and
 * index `probes`. Read them before and after, and compare.
 */
export const work = { slots: 0, units: 0, probes: 0 }
