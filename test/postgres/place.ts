/** A database per test, with an unprivileged store user and ways to damage it. */

import type pg from 'pg'
import { onTestFinished } from 'vitest'
import { cut, run, session, urlOf } from './bystander.ts'
import type { TestServer } from './server.ts'

/** The unprivileged user of the stores. */
export const APP = { name: 'app', password: 'open-sesame-7431' }

let databases = 0

export async function settle(server: TestServer): Promise<void> {
  await run(server.url, `CREATE ROLE ${APP.name} LOGIN PASSWORD '${APP.password}'`)
}

/** A database owned by the store user, with access to it. */
export interface Place {
  readonly server: TestServer
  readonly name: string
  /** URL for the store's user. */
  readonly url: string
  /** Runs statements as the superuser and returns the last rows. */
  readonly rule: (...statements: readonly string[]) => Promise<unknown[]>
  /** A superuser session in it, which can hold locks. */
  readonly rival: pg.Client
  /** A superuser session in another database. */
  readonly looker: pg.Client
  /** Terminates the store's connections. */
  readonly cut: () => Promise<void>
}

/** Creates a database for one test; requires `settle` on the server. */
export async function position(server: TestServer): Promise<Place> {
  const name = `fault_${(databases += 1)}`
  await run(server.url, `CREATE DATABASE ${name} TEMPLATE template0 OWNER app`)
  const ownUrl = urlOf(server.url, name)
  const [looker, rival] = [await session(server.url), await session(ownUrl)]
  onTestFinished(async () => {
    await Promise.all([rival.end(), looker.end()])
  })
  return {
    server,
    name,
    url: urlOf(server.url, name, APP),
    rule: (...statements) => run(ownUrl, ...statements),
    rival,
    looker,
    cut: () => cut(looker, APP.name),
  }
}
