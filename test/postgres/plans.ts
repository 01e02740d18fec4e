/** A pool that records the plan of every statement, including those inside functions. */

import pg from 'pg'
import { SESSION } from '../../src/store/postgres/connection.ts'
import { MAX_COUNTED } from '../../src/store/contract/query.ts'

/** Maximum rows a call may read: a few pages, independent of the conversation's length. */
const MAX_ROWS = 500

/** A plan node in the JSON of EXPLAIN ANALYZE. */
export interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Index Cond'?: string
  readonly 'Recheck Cond'?: string
  readonly Filter?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  /** Whether its node type is disabled by a setting (PostgreSQL 18 and later). */
  readonly Disabled?: boolean
  readonly Plans?: readonly PlanNode[]
}

/** An executed statement and its plan. */
export interface Plan {
  readonly text: string
  readonly nodes: readonly PlanNode[]
  /** Whether JIT compilation is possible for an expensive plan. */
  readonly mayCompile: boolean
}

export interface Explainer {
  readonly pool: pg.Pool
  /** The plans since the last call. */
  take(): Plan[]
}

/** Requires a superuser's URL. Uses a single connection to keep plans in order. */
export function explainer(url: string): Explainer {
  let plans: Plan[] = []
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    idleTimeoutMillis: 0,
    onConnect: async (client) => {
      client.on('notice', ({ message = '' }) => {
        const start = message.indexOf('plan:\n')
        if (start < 0) return
        const {
          'Query Text': text,
          Plan: root,
          Settings: { jit = 'on' } = {},
        } = JSON.parse(message.slice(start + 6)) as {
          readonly 'Query Text': string
          readonly Plan: PlanNode
          readonly Settings?: Readonly<Record<string, string>>
        }
        const mayCompile = jit === 'on'
        plans.push({ text: text.replaceAll(/\s+/g, ' ').trim(), nodes: below(root), mayCompile })
      })
      await client.query(SESSION)
      await client.query(`LOAD 'auto_explain'`)
      for (const [name, value] of Object.entries(SETTINGS)) await client.query(`SET ${name} = ${value}`)
    },
  })
  pool.on('error', () => undefined)
  return {
    pool,
    take: () => {
      const taken = plans
      plans = []
      return taken
    },
  }
}

const SETTINGS = {
  'auto_explain.log_min_duration': '0',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_settings': 'on',
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
  client_min_messages: 'notice',
  track_functions: "'all'",
}

const below = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(below)]

/** Rows that a node read, including filtered ones. */
export const rowsOf = (node: PlanNode): number =>
  node['Actual Loops'] *
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0))

/** Faults in the plan of a list. */
function listFaults(nodes: readonly PlanNode[]): string[] {
  const sorts = nodes.filter((node) => /Sort|Bitmap|Seq Scan|Hash/.test(node['Node Type']))
  const keyed = nodes.filter(({ 'Index Name': name = '' }) => name === 'conversation_tag')
  const walked = nodes
    .filter(({ 'Index Name': name = '' }) => /^(conversation_(?!.*key)|log_updated)/.test(name))
    .map(rowsOf)
  return [
    ...sorts.map((node) => `has a node ${node['Node Type']}`),
    ...keyed
      .filter((node) => !/^\(*(name = |ROW\(name, value, )/.test(node['Index Cond'] ?? ''))
      .map((node) => `uses the condition ${node['Index Cond']}`),
    ...walked.filter((rows) => rows > MAX_COUNTED + 1).map((rows) => `scans ${rows} rows`),
  ]
}

/** Faults in plans: sequential scans, sorts in lists, index conditions without the conversation, too many rows. */
export function planFaults(
  plans: readonly Plan[],
  { isFull, mayReadMuch, isList }: { isFull: boolean; mayReadMuch: boolean; isList: boolean },
): string[] {
  return plans.flatMap(({ text, nodes, mayCompile }) => {
    const withText = (fault: string): string => `${fault}: ${text}`
    const reads = nodes.filter((node) => node['Node Type'] !== 'ModifyTable')
    const scans = reads.filter((node) => node['Node Type'] === 'Seq Scan' && rowsOf(node) > 0)
    const walked = scans.map((node) => node['Relation Name'] ?? '')
    // A sequential scan is best for a table of one page; this table never fits on one.
    const matches = walked.filter(
      (name) => name === 'event' || (isFull && !mayReadMuch && name !== 'schema_version'),
    )
    const conditions = reads.filter((node) => /^event_|^lane_|^snap/.test(node['Index Name'] ?? ''))
    const unkeyed = conditions.filter((node) => !/^\(*(log|number) = /.test(node['Index Cond'] ?? ''))
    const tableReads = reads.filter((node) => /^(event|lane)$/.test(node['Relation Name'] ?? '')).map(rowsOf)
    const limit = tableReads.reduce((all, one) => all + one, 0)
    return [
      ...matches.map((name) => withText(`scans ${name}`)),
      ...(isList ? listFaults(nodes).map(withText) : []),
      ...unkeyed.map((node) => withText(`uses ${node['Index Name']} without the conversation`)),
      // Before PostgreSQL 18, a disabled node costs ten thousand million, which triggers compilation.
      ...(mayCompile && nodes.some(({ Disabled }) => Disabled === true)
        ? [withText('is compiled at each call')]
        : []),
      ...(mayReadMuch || limit <= MAX_ROWS ? [] : [withText(`reads ${limit} rows`)]),
    ]
  })
}
