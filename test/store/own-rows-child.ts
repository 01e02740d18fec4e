/** Appends an event with a row of the caller, and kills itself at MOMENT: `node own-rows-child.ts FILE_OR_URL MOMENT`. */

import { ROWS as POSTGRES } from '../postgres/schemas.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ROWS as SQLITE } from './sqlite-drivers.ts'

const [, , target = '', moment = ''] = process.argv
const isPostgres = target.startsWith('postgres')
const store = isPostgres ? postgresStore({ url: target }) : sqliteStore({ file: target })
const rows = isPostgres ? POSTGRES : SQLITE
const die = (): void => void process.kill(process.pid, 'SIGKILL')

await store.append('c', [{ kind: 'PauseEvent', id: moment }], {
  within(tx) {
    if (moment === 'before') die()
    const inserted = rows.insert(tx, moment)
    if (moment !== 'after-row') return inserted
    if (!isPostgres) return die()
    return Promise.resolve(inserted).then(die)
  },
})
// Killed after the acknowledgement.
die()
