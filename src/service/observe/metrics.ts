/**
 * Metrics in the Prometheus format. `prom-client` is not used, because it does not limit the number of time series
 * that requests create. It also requires Node modules (`cluster`, `http`, `v8`), but a service must run on any
 * fetch server.
 */

import type { LeftOut } from '../../messages/prefix.ts'

type Labels = Readonly<Record<string, string>>

/**
 * Maximum series of a metric. Further combinations of labels share one series without labels, so that clients
 * cannot fill the memory.
 */
const MAX_SERIES = 2_000

/** A counter, or a histogram if it has bounds. Has a series for each combination of labels. */
class Metric {
  readonly #bounds: readonly number[]
  readonly #series = new Map<string, { readonly counts: number[]; sum: number }>()

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds
  }

  record(value: number, labels: Labels): void {
    const written = Object.entries(labels)
      .map(([name, text]) => `${name}="${text.replaceAll(/["\\]/g, '\\$&').replaceAll('\n', '\\n')}"`)
      .join(',')
    const key = this.#series.has(written) || this.#series.size < MAX_SERIES ? written : ''
    const series = this.#series.get(key) ?? { counts: [], sum: 0 }
    const bucket = this.#bounds.findIndex((bound) => value <= bound)
    const slot = bucket < 0 ? this.#bounds.length : bucket
    series.counts[slot] = (series.counts[slot] ?? 0) + 1
    series.sum += value
    this.#series.set(key, series)
  }

  lines(name: string): string[] {
    return [...this.#series].flatMap(([labels, { counts, sum }]) => {
      if (this.#bounds.length === 0) return [`${name}${braced(labels)} ${sum}`]
      let total = 0
      const buckets = [...this.#bounds, '+Inf'].map((bound, index) => {
        total += counts[index] ?? 0
        const le = `le="${bound}"`
        return `${name}_bucket${braced(labels === '' ? le : `${labels},${le}`)} ${total}`
      })
      return [...buckets, `${name}_sum${braced(labels)} ${sum}`, `${name}_count${braced(labels)} ${total}`]
    })
  }
}

export class Metrics {
  readonly #blocks: (() => string[])[] = []

  counter(name: string, help: string): Metric {
    return this.histogram(name, help, [], 'counter')
  }

  histogram(name: string, help: string, bounds: readonly number[], type = 'histogram'): Metric {
    const metric = new Metric(bounds)
    this.#add(name, help, type, () => metric.lines(name))
    return metric
  }

  measured(name: string, help: string, read: () => number): void {
    this.#add(name, help, 'gauge', () => [`${name} ${read()}`])
  }

  /** Returns all metrics in the text format of Prometheus. O(series). */
  text(): string {
    return `${this.#blocks.flatMap((lines) => lines()).join('\n')}\n`
  }

  #add(name: string, help: string, type: string, lines: () => string[]): void {
    this.#blocks.push(() => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines()])
  }
}

const braced = (labels: string): string => (labels === '' ? '' : `{${labels}}`)

export function countLeftOut(
  metrics: Metrics,
  onPrefix: ((remaining: LeftOut) => void) | undefined,
): (remaining: LeftOut) => void {
  const parts = metrics.counter(
    'colloquy_signed_parts_left_out_total',
    'Signed parts of replies that were left out of requests, by reason.',
  )
  return (remaining) => {
    parts.record(remaining.parts, { reason: remaining.reason })
    onPrefix?.(remaining)
  }
}
