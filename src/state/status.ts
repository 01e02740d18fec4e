/** The eight statuses of a conversation. */

/** Where a conversation stands (interface section 3, design section 3). */
export type Status =
  | 'idle'
  | 'running'
  | 'paused'
  | 'waiting_for_confirmation'
  | 'finished'
  | 'error'
  | 'stuck'
  | 'deleting'

/** All statuses, as they are written on the wire. */
export const STATUSES: readonly Status[] = Object.freeze([
  'idle',
  'running',
  'paused',
  'waiting_for_confirmation',
  'finished',
  'error',
  'stuck',
  'deleting',
])

/**
 * Whether a value is one of the eight statuses.
 * @example
 * isStatus('stuck') // true
 * isStatus('asleep') // false
 */
export const isStatus = (value: unknown): value is Status => (STATUSES as readonly unknown[]).includes(value)
