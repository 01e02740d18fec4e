/** Parses `--db`; the printed form of an address never contains its password. */

import { UsageError } from '../failure.ts'

export interface Address {
  readonly kind: 'sqlite' | 'postgres'
  readonly target: string
  readonly label: string
  readonly withoutPassword: (text: string) => string
}

const POSTGRES = /^postgres(?:ql)?:\/\//i
const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i
const HIDDEN = '***'

const SECRET_PARAMETER = /([?&](?:password|sslpassword)=)([^&\n]*)/gi

/** Matches a database URL with a password. Apply this pattern to the part of a line before its last @. */
const PASSWORD = /(postgres(?:ql)?:\/\/[^\s:/@]*):[^]*$/i

export const isDatabaseUrl = (text: string): boolean => POSTGRES.test(text)

export const hideLogins = (text: string): string =>
  text.split('\n').map(hideLogin).join('\n').replaceAll(SECRET_PARAMETER, `$1${HIDDEN}`)

function hideLogin(line: string): string {
  const end = line.lastIndexOf('@')
  return end < 0 ? line : line.slice(0, end).replace(PASSWORD, `$1:${HIDDEN}`) + line.slice(end)
}

export function addressOf(target: string): Address {
  if (POSTGRES.test(target)) return postgresAddress(target)
  if (SCHEME.test(target)) throw new UsageError('--db must be a file or a postgres:// URL')
  if (target === ':memory:') throw new UsageError('--db cannot be an in-memory database: use a file')
  return { kind: 'sqlite', target, label: target, withoutPassword: (text) => text }
}

function postgresAddress(target: string): Address {
  // Match up to the last @, to hide even a password with characters that a URL should escape.
  const password = /^[^:]*:\/\/[^:@]*:([^]*)@/.exec(target)?.[1] ?? ''
  const parameters = Array.from(target.matchAll(SECRET_PARAMETER), ([, , value = '']) => value)
  // Replace the longest secret first, because one secret may be a prefix of another.
  const secrets = [password, ...parameters]
    .flatMap((text) => [text, decoded(text)])
    .filter((text) => text !== '')
    .toSorted((a, b) => b.length - a.length)
  const label = hideLogins(target)
  const withoutPassword = (text: string): string =>
    secrets.reduce((clean, secret) => clean.replaceAll(secret, HIDDEN), text.replaceAll(target, label))
  return { kind: 'postgres', target, label, withoutPassword }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
