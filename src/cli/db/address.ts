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

/** A password and the rest of the line up to its last @, for a URL in the place of another argument. */
const PASSWORD = /(postgres(?:ql)?:\/\/[^\s:/@]*):[^]*$/i

export const isDatabaseUrl = (text: string): boolean => POSTGRES.test(text)

export const hideLogins = (text: string): string =>
  text.split('\n').map(hideLogin).join('\n').replaceAll(SECRET_PARAMETER, `$1${HIDDEN}`)

function hideLogin(line: string): string {
  const end = line.lastIndexOf('@')
  return end < 0 ? line : line.slice(0, end).replace(PASSWORD, `$1:${HIDDEN}`) + line.slice(end)
}

/** Parses a database address. @throws UsageError for another kind of URL, and for a database in memory. */
export function addressOf(target: string): Address {
  if (POSTGRES.test(target)) return postgresAddress(target)
  if (SCHEME.test(target)) throw new UsageError('--db must be a file or a postgres:// URL')
  if (target === ':memory:') throw new UsageError('--db cannot be an in-memory database: use a file')
  return { kind: 'sqlite', target, label: target, withoutPassword: (text) => text }
}

function postgresAddress(target: string): Address {
  const scheme = POSTGRES.exec(target)?.[0] ?? ''
  // Up to the last @, so that a password with characters that a URL should escape is hidden as well.
  const end = target.lastIndexOf('@')
  const login = end < 0 ? '' : target.slice(scheme.length, end)
  const colon = login.indexOf(':')
  const user = colon < 0 ? login : login.slice(0, colon)
  const password = colon < 0 ? '' : login.slice(colon + 1)
  const rest = target.slice(end < 0 ? scheme.length : end + 1)
  const parameters = Array.from(rest.matchAll(SECRET_PARAMETER), (match) => match[2] ?? '')
  const secrets = [password, ...parameters].flatMap((text) => [text, decoded(text)]).filter(Boolean)
  const shown = rest.replaceAll(SECRET_PARAMETER, `$1${HIDDEN}`)
  const label = `${scheme}${user}${password === '' ? '' : `:${HIDDEN}`}${end < 0 ? '' : '@'}${shown}`
  // The longest first: one secret may be a prefix of another.
  const hidden = [...new Set(secrets)].toSorted((a, b) => b.length - a.length)
  return {
    kind: 'postgres',
    target,
    label,
    withoutPassword: (text) =>
      hidden.reduce((clean, secret) => clean.replaceAll(secret, HIDDEN), text.replaceAll(target, label)),
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
