/** The report of a run: a line per failover, and a summary. */

import { percentile } from './ledger.ts'

export interface Failover {
  readonly fault: string
  /** The primary before and after. */
  readonly from: string
  readonly to: string
  /** Longest time without an acknowledged library write, and without a service message, in milliseconds. */
  readonly gap: number
  readonly serviceGap: number
  readonly acknowledged: number
  readonly lost: readonly string[]
  readonly lostRows: readonly string[]
  readonly duplicates: readonly string[]
  /** Differences between readers and the log. */
  readonly misread: readonly string[]
  /** Reader resets since the start of the run. */
  readonly resets: number
  /** Rebuilt nodes. */
  readonly rebuilt: number
}

const seconds = (ms: number): string => (Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : '-')

export function lineOf(one: Failover, number: number, count: number): string {
  return [
    `${number}/${count} ${one.fault}`,
    `${one.from} -> ${one.to}`,
    `write gap ${seconds(one.gap)} (service ${seconds(one.serviceGap)})`,
    `acknowledged ${one.acknowledged}`,
    ...countsOf([one]),
    ...(one.rebuilt > 0 ? [`nodes rebuilt ${one.rebuilt}`] : []),
  ].join(', ')
}

/** Totals of lost, duplicate and misread writes. */
function countsOf(all: readonly Failover[]): string[] {
  const total = (of: (one: Failover) => number): number => all.reduce((sum, one) => sum + of(one), 0)
  return [
    `lost ${total(({ lost }) => lost.length)} (outside the store ${total(({ lostRows }) => lostRows.length)})`,
    `duplicates ${total(({ duplicates }) => duplicates.length)}`,
    `misread ${total(({ misread }) => misread.length)}`,
    `reader resets ${all.at(-1)?.resets ?? 0}`,
  ]
}

export function summaryOf(all: readonly Failover[], failures: ReadonlyMap<string, number>): string[] {
  const acknowledged = all.reduce((sum, one) => sum + one.acknowledged, 0)
  const faults = [...new Set(all.map(({ fault }) => fault))]
  const gaps = (of: readonly Failover[], gap: (one: Failover) => number): string => {
    const values = of.map(gap).filter(Number.isFinite)
    return `p50 ${seconds(percentile(values, 0.5))}, p99 ${seconds(percentile(values, 0.99))}`
  }
  return [
    `${all.length} failovers: acknowledged ${acknowledged}, ${countsOf(all).join(', ')}`,
    `write gap: ${gaps(all, ({ gap }) => gap)}; of a service: ${gaps(all, ({ serviceGap }) => serviceGap)}`,
    ...faults.map((fault) => {
      const of = all.filter((one) => one.fault === fault)
      const moved = of.filter(({ from, to }) => from !== to).length
      return `  ${fault}: ${of.length}, ${moved} to another node, write gap ${gaps(of, ({ gap }) => gap)}`
    }),
    ...(all.some(({ lostRows }) => lostRows.length > 0)
      ? ['the cluster itself lost the rows outside the store']
      : []),
    `failed calls that were retried: ${
      [...failures].map(([code, count]) => `${code} ${count}`).join(', ') || 'none'
    }`,
  ]
}

export const isClean = (all: readonly Failover[]): boolean =>
  all.every(
    ({ lost, lostRows, duplicates, misread }) =>
      lost.length + lostRows.length + duplicates.length + misread.length === 0,
  )
