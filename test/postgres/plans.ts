/** A database goes in; out come a pool whose every statement tells its plan, those inside of functions too, and what was told. */

import pg from 'pg'

/** A step of a plan, as PostgreSQL writes it with EXPLAIN ANALYZE in JSON. */
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
  readonly Plans?: readonly PlanNode[]
}

/** A statement that was carried out, and how. */
export interface Plan {
  readonly text: string
  readonly nodes: readonly PlanNode[]
}

/** What explains, until its pool is ended. */
export interface Explainer {
  readonly pool: pg.Pool
  /** The plans of what was done since the last call. */
  take(): Plan[]
}

/** Makes one, of a superuser's URL. It has one connection, so that nothing comes out of turn. */
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
        const { 'Query Text': text, Plan: root } = JSON.parse(message.slice(start + 6)) as {
          readonly 'Query Text': string
          readonly Plan: PlanNode
        }
        plans.push({ text: text.replaceAll(/\s+/g, ' ').trim(), nodes: below(root) })
      })
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
  'auto_explain.log_format': 'json',
  'auto_explain.log_level': 'notice',
  client_min_messages: 'notice',
  track_functions: "'all'",
}

const below = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(below)]
