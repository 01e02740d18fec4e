/** A server goes in; out comes a database of one test, with a user for its stores and ways to do them harm. */

import type pg from 'pg'
import { onTestFinished } from 'vitest'
import { cut, run, session, urlOf } from './bystander.ts'
import type { TestServer } from './server.ts'

/** The user of the stores, who rules nothing. */
export const APP = { name: 'app', password: 'open-sesame-7431' }

let databases = 0

/** Makes the user of the stores. */
export async function settle(server: TestServer): Promise<void> {
  await run(server.url, `CREATE ROLE ${APP.name} LOGIN PASSWORD '${APP.password}'`)
}

/** A database that the user of the store owns, and ways to get at it. */
export interface Place {
  readonly server: TestServer
  readonly name: string
  /** As the store's user. */
  readonly url: string
  /** Runs statements in it as the superuser; gives the rows of the last one. */
  readonly rule: (...statements: readonly string[]) => Promise<unknown[]>
  /** The superuser's session in it, which may hold locks. */
  readonly rival: pg.Client
  /** A session of the superuser elsewhere. */
  readonly looker: pg.Client
  /** Ends the store's connections. */
  readonly cut: () => Promise<void>
}

/** Makes a database, for one test, on a server that `settle` was called for. */
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
