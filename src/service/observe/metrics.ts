/**
 * Metrics in the Prometheus format. `prom-client` is not used: it does not limit the series that requests
 * create, and it requires Node modules (`cluster`, `http`, `v8`), while a service can be mounted on any fetch
 * server.
 */

import type { LeftOut } from '../../messages/prefix.ts'

/** Labels of one series, by name. */
export type Labels = Readonly<Record<string, string>>

/** A number that only grows. */
export interface Counter {
  readonly add: (labels?: Labels, by?: number) => void
}

/** The distribution of observed values. */
export interface Histogram {
  readonly observe: (value: number, labels?: Labels) => void
}

/** The metrics of one service. */
export interface Metrics {
  readonly counter: (name: string, help: string) => Counter
  readonly measured: (name: string, help: string, read: () => number) => void
  readonly histogram: (name: string, help: string, bounds: readonly number[]) => Histogram
  /** Returns all metrics in the text format of Prometheus. O(series). */
  readonly text: () => string
}

/**
 * Maximum series of a metric. All further series share one without labels, so that clients cannot fill the
 * memory.
 */
const MAX_SERIES = 2_000

export function createMetrics(): Metrics {
  const measures = new Map<string, { readonly lines: () => string[]; readonly made: unknown }>()
  const make = <T>(
    name: string,
    help: string,
    type: string,
    build: () => { made: T; rows: () => string[] },
  ): T => {
    const known = measures.get(name)
    if (known !== undefined) return known.made as T
    const { made, rows } = build()
    measures.set(name, { made, lines: () => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...rows()] })
    return made
  }
  return {
    counter: (name, help) =>
      make(name, help, 'counter', () => {
        const { add, rows } = series(name)
        return { made: { add }, rows }
      }),
    measured: (name, help, read) =>
      make(name, help, 'gauge', () => ({ made: undefined, rows: () => [`${name} ${read()}`] })),
    histogram: (name, help, bounds) => make(name, help, 'histogram', () => histogram(name, bounds)),
    text: () => `${[...measures.values()].flatMap(({ lines }) => lines()).join('\n')}\n`,
  }
}

function series(name: string): { add: (labels?: Labels, by?: number) => void; rows: () => string[] } {
  const values = new Map<string, number>()
  return {
    add(labels = {}, by = 1) {
      const written = labelText(labels)
      const key = values.has(written) || values.size < MAX_SERIES ? written : ''
      values.set(key, (values.get(key) ?? 0) + by)
    },
    rows: () => [...values].map(([labels, value]) => `${name}${braced(labels)} ${value}`),
  }
}

function histogram(name: string, bounds: readonly number[]): { made: Histogram; rows: () => string[] } {
  const spreads = new Map<string, { readonly counts: number[]; sum: number }>()
  const observe = (value: number, labels: Labels = {}): void => {
    const written = labelText(labels)
    const key = spreads.has(written) || spreads.size < MAX_SERIES ? written : ''
    const spread = spreads.get(key) ?? { counts: Array.from({ length: bounds.length + 1 }, () => 0), sum: 0 }
    const bucket = bounds.findIndex((bound) => value <= bound)
    const slot = bucket < 0 ? bounds.length : bucket
    spread.counts[slot] = (spread.counts[slot] ?? 0) + 1
    spread.sum += value
    spreads.set(key, spread)
  }
  const rows = (): string[] =>
    [...spreads].flatMap(([labels, { counts, sum }]) => {
      let total = 0
      const buckets = counts.map((count, index) => {
        total += count
        const le = `le="${bounds[index] ?? '+Inf'}"`
        return `${name}_bucket${braced(labels === '' ? le : `${labels},${le}`)} ${total}`
      })
      return [...buckets, `${name}_sum${braced(labels)} ${sum}`, `${name}_count${braced(labels)} ${total}`]
    })
  return { made: { observe }, rows }
}

const braced = (labels: string): string => (labels === '' ? '' : `{${labels}}`)

const labelText = (labels: Labels): string =>
  Object.entries(labels)
    .map(
      ([name, value]) =>
        `${name}="${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`,
    )
    .join(',')

export function countLeftOut(
  metrics: Metrics,
  onPrefix: ((remaining: LeftOut) => void) | undefined,
): (remaining: LeftOut) => void {
  const parts = metrics.counter(
    'colloquy_signed_parts_left_out_total',
    'Signed parts of replies that were left out of requests, by reason.',
  )
  return (remaining) => {
    parts.add({ reason: remaining.reason }, remaining.parts)
    onPrefix?.(remaining)
  }
}
