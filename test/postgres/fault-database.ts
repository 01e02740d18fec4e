/** A database per test whose store user is unprivileged, so that the test can cause faults as the superuser. */

import type pg from 'pg'
import { onTestFinished } from 'vitest'
import { cut, run, session, urlOf } from './sql-sessions.ts'
import type { TestServer } from './server.ts'

/** The unprivileged user of the stores. */
export const APP = { name: 'app', password: 'open-sesame-7431' }

let databases = 0

export async function createAppRole(server: TestServer): Promise<void> {
  await run(server.url, `CREATE ROLE ${APP.name} LOGIN PASSWORD '${APP.password}'`)
}

/** A database owned by the store user, with access to it. */
export interface FaultDatabase {
  readonly server: TestServer
  readonly name: string
  /** URL for the store's user. */
  readonly url: string
  /** Runs statements as the superuser and returns the last rows. */
  readonly asSuperuser: (...statements: readonly string[]) => Promise<unknown[]>
  /** A superuser session in it, which can hold locks. */
  readonly rival: pg.Client
  /** A superuser session in another database. */
  readonly observer: pg.Client
  /** Terminates the store's connections. */
  readonly cutConnections: () => Promise<void>
}

/** Creates a database for one test; requires `createAppRole` on the server. */
export async function faultDatabase(server: TestServer): Promise<FaultDatabase> {
  const name = `fault_${(databases += 1)}`
  await run(server.url, `CREATE DATABASE ${name} TEMPLATE template0 OWNER app`)
  const ownUrl = urlOf(server.url, name)
  const [observer, rival] = [await session(server.url), await session(ownUrl)]
  onTestFinished(async () => {
    await Promise.all([rival.end(), observer.end()])
  })
  return {
    server,
    name,
    url: urlOf(server.url, name, APP),
    asSuperuser: (...statements) => run(ownUrl, ...statements),
    rival,
    observer,
    cutConnections: () => cut(observer, APP.name),
  }
}
