/** Counts the units of work that the fold does, so that a test can hold the cost of an event flat at any length. */

/**
 * Running totals since the process began: `slots` copied inside persistent structures, `units` of a view visited,
 * and index `probes`. Plain increments, far below the cost of what they count; read them before and after, and compare.
 */
export const work = { slots: 0, units: 0, probes: 0 }
