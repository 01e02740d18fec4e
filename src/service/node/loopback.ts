/** Whether a host's name or address means this machine alone: only there does a service run without keys. */

import { isIPv4 } from 'node:net'

/** Whether a server that listens there can be reached from this machine only. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1')
  if (name === 'localhost' || name === '::1') return true
  const four = name.startsWith('::ffff:') ? name.slice(7) : name
  return isIPv4(four) && four.startsWith('127.')
}

/**
 * Whether the `Host` of a request names this machine. A page may come from a name that its owner makes point here, and
 * then is, to the browser, of the same site as this service; the name stays in the header.
 */
export function namesLoopback(hostHeader: string | null | undefined): boolean {
  const name = /^(\[[^\]]*\]|[^:]*)(?::\d*)?$/.exec(hostHeader ?? '')?.[1]
  return name !== undefined && (isLoopback(name) || name.toLowerCase().endsWith('.localhost'))
}
