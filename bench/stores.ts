/** Prints what the stores cost at growing lengths, beside the same rows through the bare driver: `npm run bench:stores -- --help`. */

import { parseArgs } from 'node:util'
import { orUsage } from '../test/usage.ts'
import { machine } from './measure.ts'
import { appendRows } from './stores/appends.ts'
import type { Adapter, Ground, RowGroup } from './stores/ground.ts'
import { ONE_KB, type Sizes } from './stores/log.ts'
import { pageRows } from './stores/pages.ts'
import { beside, type Row } from './stores/pair.ts'
import { openPostgres } from './stores/postgres.ts'
import { printGrowth, printRows, printVerdict, type Verdict } from './stores/report.ts'
import { openSqlite } from './stores/sqlite.ts'
import { MEASURED_MIX } from './workload.ts'

/** What is measured, in this order: a group changes nothing that a later one reads. */
const GROUPS: readonly RowGroup[] = [pageRows, appendRows]

const ADAPTERS: Readonly<Record<string, () => Promise<Adapter>>> = {
  sqlite: openSqlite,
  postgres: openPostgres,
}

const BODIES: Readonly<Record<string, Sizes>> = { '1kb': ONE_KB, mix: MEASURED_MIX }

const HELP = `Usage: npm run bench:stores -- [options]

  --adapter NAME   sqlite or postgres; may be given more than once (default: both)
  --bodies NAME    1kb or mix; may be given more than once (default: both)
  --length N       events in the log; may be given more than once
                   (default: 1000 and 100000, for SQLite with bodies of 1 KB also 1000000)
  --only GROUP     ${GROUPS.map(({ title }) => title).join(' or ')}; may be given more than once (default: all)
  --quick          lengths 1000 and 10000 and a third of the turns: a look, no judgement

A million events need about 3.5 GB in the folder for temporary files until the run ends.`

const { values: options } = orUsage(() =>
  parseArgs({
    options: {
      adapter: { type: 'string', multiple: true, default: Object.keys(ADAPTERS) },
      bodies: { type: 'string', multiple: true, default: Object.keys(BODIES) },
      length: { type: 'string', multiple: true, default: [] },
      only: { type: 'string', multiple: true, default: GROUPS.map(({ title }) => title) },
      quick: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  }),
)

/** One of a table's values. @throws when the command line names none of them. */
function pick<T>(table: Readonly<Record<string, T>>, option: string, name: string): T {
  const found = table[name]
  if (found === undefined) {
    throw new Error(`--${option} ${name}: must be one of ${Object.keys(table).join(', ')}`)
  }
  return found
}

function lengthsOf(adapter: string, bodies: string): number[] {
  if (options.length.length > 0) {
    return options.length.map((text) => {
      if (/^\d+$/.test(text) && Number(text) >= 100) return Number(text)
      throw new Error(`--length ${text}: must be a number of events, 100 or more`)
    })
  }
  if (options.quick) return [1_000, 10_000]
  return adapter === 'sqlite' && bodies === '1kb' ? [1_000, 100_000, 1_000_000] : [1_000, 100_000]
}

async function run(adapter: string, bodies: string): Promise<Verdict[]> {
  const sizes = pick(BODIES, 'bodies', bodies)
  const title = `${adapter}, bodies ${bodies}`
  const rows: Row[] = []
  const verdicts: Verdict[] = []
  const database = await pick(ADAPTERS, 'adapter', adapter)()
  try {
    const grounds: Ground[] = []
    for (const length of lengthsOf(adapter, bodies)) grounds.push(await database.fill(length, sizes))
    for (const group of GROUPS.filter((each) => options.only.includes(each.title))) {
      await database.settle()
      const pairs = (await Promise.all(grounds.map((ground) => group.pairs(ground)))).flat()
      const measured = await beside(pairs, Math.ceil(group.rounds / (options.quick ? 3 : 1)))
      rows.push(...measured)
      if (group.flat) verdicts.push(printGrowth(title, measured))
    }
  } finally {
    await database.close()
  }
  return [printRows(title, rows), ...verdicts]
}

// So that what is to be removed on exit is removed.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

if (options.help) {
  console.log(HELP)
} else {
  const titles = GROUPS.map((group) => group.title)
  orUsage(() => {
    for (const name of options.only)
      pick(Object.fromEntries(titles.map((title) => [title, true])), 'only', name)
    for (const adapter of options.adapter) {
      pick(ADAPTERS, 'adapter', adapter)
      for (const bodies of options.bodies) {
        pick(BODIES, 'bodies', bodies)
        lengthsOf(adapter, bodies)
      }
    }
  })
  console.log(machine())
  const verdicts: Verdict[] = []
  for (const adapter of options.adapter) {
    for (const bodies of options.bodies) verdicts.push(...(await run(adapter, bodies)))
  }
  printVerdict(verdicts)
}
