/** Counts the fold's units of work, so that tests can bound the cost of an event at any log length. */

/** Counts of the process: copied `slots` of persistent lists, visited `units`, and `probes` of indexes. */
export const work = { slots: 0, units: 0, probes: 0 }
